package dev.holdfast.workload;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class OutcomeTest {

    @Test
    void workersAreAddedUp() {
        Outcome outcome = Outcome.merge(List.of(worker(10, 30, 5), worker(20, 20, 7)), 2_000_000_000L, 160);
        assertThat(outcome.operations()).isEqualTo(80);
        assertThat(outcome.perSecond()).isEqualTo(40);
        assertThat(outcome.threadShare()).isEqualTo(3);
        assertThat(outcome.processShare()).isEqualTo(1);
        assertThat(outcome.requestsEach()).isEqualTo(2);
        assertThat(outcome.waits().count()).isEqualTo(2);
        assertThat(outcome.waits().max()).isEqualTo(7);
        assertThat(outcome.overlaps()).isEqualTo(2);
        assertThat(outcome.cpuEach()).isEqualTo(200.0 / 80);
        assertThat(Outcome.of(Fields.parse(outcome.fields().toString())).perSecond())
                .isEqualTo(40);
    }

    /** The requests are counted until the last of them has ended. */
    @Test
    void requestsAreSharedByOperationsThatEndAfterTheTime() {
        Histogram waits = new Histogram();
        for (int i = 0; i < 100; i++) {
            waits.add(7);
        }
        Fields worker = worker(30, 10, 1).with("waits", waits.toList());
        assertThat(Outcome.merge(List.of(worker), 1_000_000_000L, 400).requestsEach())
                .isEqualTo(4);
    }

    @Test
    void whatIsNotKnownIsNotZero() {
        Outcome outcome = Outcome.merge(List.of(worker(0, 4, 1)), 1_000_000_000L, -1);
        assertThat(outcome.requestsEach()).isNaN();
        assertThat(outcome.threadShare()).isInfinite();
        assertThat(outcome.processShare()).isNaN();
    }

    private static Fields worker(long first, long second, long wait) {
        Histogram waits = new Histogram();
        waits.add(wait);
        return new Fields()
                .with("counts", List.of(first, second))
                .with("overlaps", 1)
                .with("cpuNanos", 100)
                .with("waits", waits.toList());
    }
}
