package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What is granted to a wait that was given up, after the tombstone of its release, is held by nobody for a lease. */
class GivenUpTest extends EngineFixture {

    private static final LockOptions BRIEF = LockOptions.defaults().withLease(Duration.ofMillis(200));

    @Test
    void attemptAtSeveralThatWasGivenUpIsNotSentAgain() {
        network.randomly(1, 1, Fault.REFUSE);
        CompletableFuture<Lease> attempt =
                locks.multiLock(List.of("one", "two"), BRIEF).acquireAsync(Duration.ZERO);
        Wait.until("it was sent", () -> store.count(Verb.TRY_ACQUIRE_ALL) > 0);
        attempt.cancel(true);
        clock.settle();
        long sent = store.count(Verb.TRY_ACQUIRE_ALL);
        network.randomly(0, 0);
        pass(LEASE);
        assertThat(store.count(Verb.TRY_ACQUIRE_ALL)).isEqualTo(sent);
        assertThat(isUnused("one")).isTrue();
    }
}
