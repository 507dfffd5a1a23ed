package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.Test;

/** What is done for a wait that was given up, after the tombstone of its release, is of use to nobody, and keeps others out. */
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

    /** Its repeat is due before the time is over, and gets its turn after that, when the thread has left. */
    @Test
    void entryIntoAWaitSetIsNotSentAfterItsTime() {
        DistributedLock lock = locks.lock("one");
        Condition condition = lock.condition("two");
        a.run(lock::lock);
        network.randomly(1, 1, Fault.DROP_REQUEST);
        CompletableFuture<Void> enters = a.begin(condition::await);
        Wait.until("it was sent", () -> store.count(Verb.ENQUEUE) > 0);
        clock.settle();
        long sent = store.count(Verb.ENQUEUE);
        network.randomly(0, 0);
        clock.advanceAndSettle(LockOptions.defaults().storeTimeout().plusMillis(1));
        Actor.failure(StoreUnavailableException.class, enters);
        assertThat(store.count(Verb.ENQUEUE)).isEqualTo(sent);
        a.run(lock::unlock);
    }
}
