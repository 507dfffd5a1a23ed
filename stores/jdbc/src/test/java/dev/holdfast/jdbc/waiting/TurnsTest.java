package dev.holdfast.jdbc.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.testkit.Claimant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How many releases come before a claim is granted. */
class TurnsTest {

    private static final LockName NAME = new LockName("turns");

    private final Claimant alice = new Claimant("alice", Duration.ofMinutes(1));
    private final ResourceRecord record = new ResourceRecord(NAME, Duration.ofSeconds(5));

    /** The turns of claims that come in this order; those of the ones that are granted at once are left out. */
    private List<Integer> turns(Claim... claims) {
        for (Claim claim : claims) {
            record.enqueue(claim, 1, 1);
        }
        Turns turns = new Turns(record);
        List<Integer> all = new ArrayList<>();
        record.waiters().forEach(place -> all.add(turns.next(place.claim())));
        List<Integer> each = record.waiters().stream()
                .map(place -> Turns.of(place.claim().id(), record))
                .toList();
        assertThat(each).as("one by one").isEqualTo(all);
        return all;
    }

    private Claim permits(int permits) {
        return alice.claim(NAME, permits, 10);
    }

    @Test
    void exclusiveClaimsHaveOneTurnEach() {
        assertThat(turns(alice.mutex(NAME), alice.mutex(NAME), alice.mutex(NAME), alice.mutex(NAME)))
                .containsExactly(0, 1, 2);
    }

    @Test
    void readersInARowHaveOneTurn() {
        assertThat(turns(
                        alice.write(NAME),
                        alice.read(NAME),
                        alice.read(NAME),
                        alice.write(NAME),
                        alice.read(NAME),
                        alice.read(NAME),
                        alice.write(NAME)))
                .containsExactly(0, 0, 1, 2, 2, 3);
    }

    @Test
    void readersBehindAWaitingWriterComeAfterIt() {
        assertThat(turns(alice.read(NAME), alice.read(NAME), alice.write(NAME), alice.read(NAME), alice.read(NAME)))
                .containsExactly(0, 1, 1);
    }

    @Test
    void aSemaphoreGrantsWhatOneReleaseLeavesRoomFor() {
        assertThat(turns(permits(7), permits(2), permits(3), permits(5), permits(1), permits(6)))
                .as("one is free, and seven will be")
                .containsExactly(0, 0, 1, 2);
    }

    @Test
    void oneWhoDoesNotWaitHasNoTurn() {
        turns(alice.mutex(NAME), alice.mutex(NAME));
        assertThat(Turns.of(alice.mutex(NAME).id(), record)).isZero();
    }
}
