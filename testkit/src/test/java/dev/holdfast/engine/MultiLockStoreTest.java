package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.testkit.ChangedTraits;
import dev.holdfast.testkit.fault.CountingStore;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Tests of multi-locks that block no thread, of stores that cannot take several names at once, and of stores that
 * fail.
 */
class MultiLockStoreTest extends EngineFixture {

    private static final List<String> NAMES = List.of("x", "y", "z");

    private void assertUnused() {
        NAMES.forEach(this::awaitUnused);
    }

    private static final class OneByOneStore extends ForwardingStore {
        private OneByOneStore(LockStore store) {
            super(store);
        }

        @Override
        public StoreTraits traits() {
            return ChangedTraits.of(super.traits()).oneNameAtATime().get();
        }

        @Override
        public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
            throw new UnsupportedOperationException("This store takes one name at a time");
        }
    }

    @Test
    void aStoreThatTakesOneNameAtATimeWillDo() throws InterruptedException {
        CountingStore counting = new CountingStore(new OneByOneStore(memory));
        DistributedLock all = client(counting).multiLock("x", "y", "z");
        all.lock();
        assertThat(all.tryLock()).isTrue();
        all.unlock();
        all.unlock();
        assertUnused();
        try (Lease lease = all.acquire()) {
            assertThat(lease.names()).isEqualTo(NAMES);
        }
        assertThat(all.tryLock()).isTrue();
        all.unlock();

        c.run(rival.lock("z")::lock);
        assertThat(all.tryLock()).isFalse();
        awaitUnused("x");
        assertThat(counting.count(Verb.TRY_ACQUIRE_ALL)).isZero();
        c.run(rival.lock("z")::unlock);
        assertUnused();
    }

    @Test
    void aFutureOfSeveralNamesIsGrantedWhenAllAreFree() {
        c.run(rival.lock("y")::lock);
        CompletableFuture<Lease> future = locks.multiLock("z", "y", "x").acquireAsync();
        awaitWaiters("y", 1);
        assertThat(holders("x")).isEqualTo(1);
        assertThat(isUnused("z")).isTrue();
        c.run(rival.lock("y")::unlock);
        Lease lease = Actor.end(future);
        assertThat(lease.names()).isEqualTo(NAMES);
        Actor.end(lease.releaseAsync());
        assertUnused();
    }

    @Test
    void aFutureOfSeveralNamesThatIsCancelledLeavesNothing() {
        c.run(rival.lock("y")::lock);
        CompletableFuture<Lease> future = locks.multiLock("x", "y", "z").acquireAsync();
        awaitWaiters("y", 1);
        future.cancel(false);
        awaitWaiters("y", 0);
        awaitUnused("x");
        c.run(rival.lock("y")::unlock);
        assertUnused();
    }

    @Test
    void aFutureOfSeveralNamesThatTimesOutLeavesNothing() {
        c.run(rival.lock("y")::lock);
        CompletableFuture<Lease> future = locks.multiLock("x", "y", "z").acquireAsync(Duration.ofSeconds(3));
        awaitWaiters("y", 1);
        pass(Duration.ofSeconds(3));
        Actor.failure(LockTimeoutException.class, future);
        awaitWaiters("y", 0);
        awaitUnused("x");
        c.run(rival.lock("y")::unlock);
    }

    @Test
    void aLostReplyOfTakingAllLeavesNothingBehind() {
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.DROP_REPLY);
        DistributedLock all = locks.multiLock("x", "y", "z");
        CompletableFuture<Void> locking = a.begin(all::lock);
        clock.advanceUntil("all are held", Duration.ofMillis(20), locking::isDone);
        Actor.end(locking);
        for (String name : NAMES) {
            Wait.until("only one claim is left of " + name, () -> holders(name) == 1 && waiters(name) == 0);
        }
        a.run(all::unlock);
        assertUnused();
    }

    /** One lost reply does not count as an outage of ten seconds. */
    @Test
    void aLostReplyOfTryingAllIsRepaired() {
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.DROP_REPLY);
        DistributedLock all = locks.multiLock("x", "y", "z");
        CompletableFuture<Boolean> trying = a.start(() -> all.tryLock());
        clock.advanceUntil("the attempt has ended", Duration.ofMillis(20), trying::isDone);
        assertThat(Actor.end(trying)).isTrue();
        a.run(all::unlock);
        assertUnused();
    }

    @Test
    void anOutageFailsTheAttemptToTakeAllAndLeavesNothing() {
        DistributedLock all = locks.multiLock("x", "y", "z");
        network.partition();
        CompletableFuture<Boolean> trying = a.start(() -> all.tryLock());
        clock.advanceUntil("the attempt has ended", Duration.ofMillis(200), trying::isDone);
        assertThat(Actor.failure(StoreUnavailableException.class, trying))
                .hasMessageContainingAll("x", "y", "z", locks.clientId());
        network.heal();
        assertUnused();
    }

    @Test
    void anOutageInTheMiddleRollsBack() {
        DistributedLock all = locks.multiLock(NAMES, LockOptions.defaults().withStoreTimeout(Duration.ofSeconds(2)));
        c.run(rival.lock("y")::lock);
        CompletableFuture<Boolean> locking = a.park(() -> all.tryLock(1, TimeUnit.HOURS));
        network.partition();
        clock.advanceUntil("the wait has failed", Duration.ofMillis(200), locking::isDone);
        Actor.failure(StoreUnavailableException.class, locking);
        network.heal();
        clock.advanceUntil(
                "what was held and waited for is released",
                Duration.ofMillis(200),
                () -> isUnused("x") && waiters("y") == 0);
        c.run(rival.lock("y")::unlock);
        assertUnused();
    }

    @Test
    void theFixedLeaseOfAllMembersIsBegunInOneTrip() {
        Holdfast mine = client(store);
        DistributedLock all = mine.multiLock(NAMES, LockOptions.defaults().withFixedLease(LEASE));
        c.run(rival.lock("y")::lock);
        CompletableFuture<Lease> waiting = a.park(() -> all.acquire());
        store.reset();
        c.run(rival.lock("y")::unlock);
        Lease lease = Actor.end(waiting);
        assertThat(store.count(Verb.RENEW)).isLessThanOrEqualTo(2);
        a.run(lease::release);
        assertUnused();
    }
}
