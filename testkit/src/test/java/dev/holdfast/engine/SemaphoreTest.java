package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockConflictException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Tests of permits that all processes share. They are held as leases and granted in the order of arrival, whatever
 * their number.
 */
class SemaphoreTest extends EngineFixture {

    private final DistributedSemaphore pool = locks.semaphore("pool", 5);
    private final DistributedSemaphore theirs = rival.semaphore("pool", 5);

    @Test
    void permitsOfAllClientsSumToTheLimit() throws InterruptedException {
        Lease two = pool.acquire(2);
        Lease one = theirs.acquire();
        assertThat(pool.tryAcquire(3)).isEmpty();
        assertThat(theirs.tryAcquire(3)).isEmpty();
        Lease rest = pool.tryAcquire(2).orElseThrow();
        assertThat(pool.tryAcquire()).isEmpty();
        assertThat(theirs.tryAcquire()).isEmpty();
        assertThat(pool.state().orElseThrow().holders()).hasSize(3);
        two.release();
        Lease again = theirs.tryAcquire(2).orElseThrow();
        for (Lease lease : new Lease[] {one, rest, again}) {
            lease.release();
        }
        assertThat(pool.state()).isEmpty();
    }

    @Test
    void aThreadMayHoldSeveralLeases() throws InterruptedException {
        Lease[] leases = new Lease[5];
        for (int i = 0; i < 5; i++) {
            leases[i] = pool.acquire();
        }
        assertThat(pool.tryAcquire()).isEmpty();
        for (Lease lease : leases) {
            lease.release();
        }
        awaitUnused("pool");
    }

    @Test
    void aLargeRequestIsNotPassedOverBySmallOnesOfAnotherClient() throws InterruptedException {
        Lease held = theirs.acquire(3);
        CompletableFuture<Lease> large = a.park(() -> pool.acquire(4));
        CompletableFuture<Lease> small = b.park(() -> theirs.acquire(1));
        assertThat(theirs.tryAcquire(1))
                .as("two are free, but a waiter is before")
                .isEmpty();
        held.release();
        Lease four = Actor.end(large);
        Lease one = Actor.end(small);
        four.release();
        one.release();
        awaitUnused("pool");
    }

    @Test
    void aLargeRequestIsNotPassedOverBySmallOnesOfItsOwnJvm() throws InterruptedException {
        Lease held = pool.acquire(3);
        CompletableFuture<Lease> large = a.park(() -> pool.acquire(4));
        CompletableFuture<Lease> small = b.park(() -> pool.acquire(1));
        assertThat(pool.tryAcquire(1)).isEmpty();
        held.release();
        Actor.end(large).release();
        Actor.end(small).release();
        awaitUnused("pool");
    }

    @Test
    void waitersThatFitTogetherAreServedTogether() throws InterruptedException {
        Lease all = theirs.acquire(5);
        CompletableFuture<Lease> first = a.park(() -> pool.acquire(2));
        CompletableFuture<Lease> second = b.park(() -> pool.acquire(2));
        CompletableFuture<Lease> third = c.park(() -> pool.acquire(1));
        all.release();
        for (CompletableFuture<Lease> waiting : List.of(first, second, third)) {
            Actor.end(waiting);
        }
        assertThat(holders("pool")).isEqualTo(3);
        Actor.end(first).release();
        Actor.end(second).release();
        Actor.end(third).release();
        awaitUnused("pool");
    }

    @Test
    void aTimedWaitThatEndsLeavesNothing() throws InterruptedException {
        Lease all = theirs.acquire(5);
        CompletableFuture<Lease> waiting = a.park(() -> pool.acquire(1, Duration.ofSeconds(3)));
        pass(Duration.ofSeconds(3));
        LockTimeoutException timeout = Actor.failure(LockTimeoutException.class, waiting);
        assertThat(timeout).hasMessageContainingAll("pool", locks.clientId());
        awaitWaiters("pool", 0);
        all.release();
    }

    @Test
    void aWaitOfNoTimeIsATry() throws InterruptedException {
        Lease all = theirs.acquire(5);
        assertThatExceptionOfType(LockTimeoutException.class).isThrownBy(() -> pool.acquire(1, Duration.ZERO));
        all.release();
        pool.acquire(5, Duration.ZERO).release();
        awaitUnused("pool");
    }

    /** A grant of all permits is exclusive, so it can be passed on with a larger token each time. */
    @Test
    void allPermitsAtOnceAreHandedOffLocally() throws InterruptedException {
        Lease all = pool.acquire(5);
        CompletableFuture<Lease> waiting = a.park(() -> pool.acquire(5));
        store.reset();
        all.release();
        assertThat(Actor.end(waiting).token()).isEqualTo(all.token() + 1);
        assertThat(store.total()).isZero();
        Actor.end(waiting).release();
    }

    @Test
    void anotherLimitIsAConflictHereAndThere() throws InterruptedException {
        Lease held = pool.acquire();
        for (DistributedSemaphore other :
                new DistributedSemaphore[] {locks.semaphore("pool", 6), rival.semaphore("pool", 6)}) {
            LockConflictException conflict = Actor.failure(LockConflictException.class, a.start(() -> other.acquire()));
            assertThat(conflict).hasMessageContainingAll("pool", "semaphore of 5", "semaphore of 6");
            Actor.failure(LockConflictException.class, a.start(() -> other.tryAcquire()));
            Actor.failure(LockConflictException.class, other.acquireAsync(1));
        }
        held.release();
        awaitUnused("pool");
    }

    @Test
    void aMutexOfTheSameNameIsAConflictHereAndThere() throws InterruptedException {
        Lease held = pool.acquire();
        Actor.failure(LockConflictException.class, a.begin(locks.lock("pool")::lock));
        Actor.failure(LockConflictException.class, a.begin(rival.lock("pool")::lock));
        Actor.failure(LockConflictException.class, a.start(rival.lock("pool")::tryLock));
        Actor.failure(
                LockConflictException.class, a.start(locks.readWriteLock("pool").readLock()::tryLock));
        Actor.failure(LockConflictException.class, a.start(locks.multiLock("other", "pool")::tryLock));
        Actor.failure(LockConflictException.class, a.begin(rival.multiLock("other", "pool")::lock));
        held.release();
        awaitUnused("other");

        a.run(locks.lock("pool")::lock);
        Actor.failure(LockConflictException.class, b.start(pool::acquire));
        Actor.failure(LockConflictException.class, b.start(theirs::acquire));
        a.run(locks.lock("pool")::unlock);
        awaitUnused("pool");
    }

    /** Waiters of two kinds meet. The earlier one is served, and the later one has got the conflict by then. */
    @Test
    void aConflictWithWaitersOfAnotherKindHarmsOnlyTheLater() throws InterruptedException {
        Lease held = theirs.acquire(5);
        CompletableFuture<Lease> waiting = a.park(() -> pool.acquire(1));
        CompletableFuture<Void> ofThisJvm = b.begin(locks.lock("pool")::lock);
        Actor.failure(LockConflictException.class, c.begin(rival.lock("pool")::lock));
        held.release();
        Lease lease = Actor.end(waiting);
        Actor.failure(LockConflictException.class, ofThisJvm);
        lease.release();
        awaitUnused("pool");
    }

    @Test
    void theNameIsFreeForAnotherKindOnceItIsNotInUse() throws InterruptedException {
        pool.acquire(5).release();
        locks.lock("pool").lock();
        locks.lock("pool").unlock();
        locks.semaphore("pool", 7).acquire(7).release();
        awaitUnused("pool");
    }

    private Claim claimIn(String name, Lease lease) {
        return memory.inspect(new LockName(name)).toCompletableFuture().join().orElseThrow().holders().stream()
                .filter(entry -> entry.counter() == lease.token() >> 10)
                .findFirst()
                .orElseThrow()
                .claim();
    }

    /** The store has ended one of two grants and given its permit to another thread here: which one is not known here. */
    @Test
    void ofTwoHoldersTheOneThatWasBrokenIsLostAndNotTheOlder() {
        DistributedSemaphore two = locks.semaphore("pair", 2);
        Lease older = a.get(() -> two.acquire());
        Lease broken = b.get(() -> two.acquire());
        CompletableFuture<Lease> waiting = c.park(() -> two.acquire());
        memory.release(claimIn("pair", broken).again());
        Lease newer = Actor.end(waiting);
        clock.settle();
        assertThat(older.state()).isEqualTo(LeaseState.SAFE);
        assertThat(newer.state()).isEqualTo(LeaseState.SAFE);
        assertThat(broken.state()).as("without time passing").isEqualTo(LeaseState.LOST);
        LockLostException lost = Actor.failure(LockLostException.class, b.begin(broken::release));
        assertThat(lost.reason()).isEqualTo(LossReason.BROKEN);
        a.run(older::release);
        assertThat(holders("pair")).isEqualTo(1);
        c.run(newer::release);
        awaitUnused("pair");
    }

    /** Two that do not fit together: the older one is over. A third that fits beside both is not concerned. */
    @Test
    void ofTwoThatDoNotFitTogetherTheOlderIsLostAtOnce() {
        Lease beside = a.get(() -> pool.acquire(1));
        Lease broken = b.get(() -> pool.acquire(3));
        CompletableFuture<Lease> waiting = c.park(() -> pool.acquire(3));
        memory.release(claimIn("pool", broken).again());
        Lease newer = Actor.end(waiting);
        assertThat(broken.state()).isEqualTo(LeaseState.LOST);
        assertThat(beside.state()).isEqualTo(LeaseState.SAFE);
        assertThat(newer.state()).isEqualTo(LeaseState.SAFE);
        Actor.failure(LockLostException.class, b.begin(broken::release));
        beside.release();
        newer.release();
    }

    @Test
    void aSemaphoreOfAHolderThatDiedComesBackWithItsLease() throws InterruptedException {
        Holdfast dead = client(network);
        dead.semaphore("pool", 5).acquire(5);
        network.partition();
        mayLeaveClaims();
        CompletableFuture<Lease> waiting = a.park(() -> theirs.acquire(5));
        pass(LEASE.plusSeconds(2));
        Actor.end(waiting).release();
    }
}
