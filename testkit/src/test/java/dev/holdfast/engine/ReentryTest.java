package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.LossReason;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests of threads that hold a lock and ask for it again. */
class ReentryTest extends EngineFixture {

    private final DistributedLock lock = locks.lock("again");

    @Test
    void everyWayToLockIsAReentryThatIsCountedAndMakesNoTrip() throws InterruptedException {
        lock.lock();
        long token = lock.token();
        store.reset();

        lock.lock();
        lock.lockInterruptibly();
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.tryLock(0, TimeUnit.SECONDS)).isTrue();
        assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
        assertThat(lock.holdCount()).isEqualTo(6);
        assertThat(lock.token()).as("the token after re-entry").isEqualTo(token);
        for (int count = 5; count >= 1; count--) {
            lock.unlock();
            assertThat(lock.holdCount()).isEqualTo(count);
            assertThat(lock.isHeldByCurrentThread()).isTrue();
        }
        assertThat(store.total()).as("calls to the store").isZero();

        lock.unlock();
        assertThat(lock.holdCount()).isZero();
        assertThat(isUnused("again")).isTrue();
    }

    /** No other thread gets the lock before the last unlock. */
    @Test
    void theLockIsFreeOnlyAfterAsManyUnlocksAsLocks() {
        a.run(lock::lock);
        a.run(lock::lock);
        a.run(lock::unlock);
        assertThat(b.get(() -> lock.tryLock())).isFalse();
        a.run(lock::unlock);
        assertThat(b.get(() -> lock.tryLock())).isTrue();
        b.run(lock::unlock);
    }

    /** The hold belongs to client, name and thread, not to the lock object. */
    @Test
    void twoObjectsOfOneNameAreOneLock() {
        DistributedLock same = locks.lock("again", LockOptions.defaults().withLease(Duration.ofMinutes(1)));
        lock.lock();
        same.lock();
        assertThat(lock.holdCount()).isEqualTo(2);
        assertThat(same.token()).isEqualTo(lock.token());
        lock.unlock();
        same.unlock();
        assertThat(isUnused("again")).isTrue();
    }

    @Test
    void anotherClientOfTheSameThreadDoesNotReenter() {
        lock.lock();
        assertThat(rival.lock("again").tryLock()).isFalse();
        lock.unlock();
    }

    @Test
    void anotherThreadSeesNoHold() {
        a.run(lock::lock);
        assertThat(b.get(lock::holdCount)).isZero();
        assertThat(b.get(lock::isHeldByCurrentThread)).isFalse();
        IllegalMonitorStateException refused = Actor.failure(IllegalMonitorStateException.class, b.start(lock::token));
        assertThat(refused).hasMessageContaining("again");
        a.run(lock::unlock);
    }

    @Test
    void aLockThatIsNotReentrantRefusesReentryAndKeepsTheFirstHold() throws InterruptedException {
        DistributedLock once = locks.lock("again", LockOptions.defaults().withReentrant(false));
        once.lock();
        store.reset();
        assertThatExceptionOfType(LockException.class)
                .isThrownBy(once::lock)
                .withMessageContainingAll("again", "re-entrant");
        assertThatExceptionOfType(LockException.class).isThrownBy(once::lockInterruptibly);
        assertThatExceptionOfType(LockException.class).isThrownBy(() -> once.tryLock(1, TimeUnit.SECONDS));
        assertThat(once.tryLock()).isFalse();
        assertThat(once.tryLock(0, TimeUnit.SECONDS)).isFalse();
        assertThat(once.holdCount()).isEqualTo(1);
        assertThat(store.total()).isZero();
        once.unlock();
        assertThat(isUnused("again")).isTrue();
    }

    @Test
    void reentryOfALostHoldThrowsAndEveryUnlockSaysSo() {
        DistributedLock fixed = locks.lock("again", LockOptions.defaults().withFixedLease(LEASE));
        fixed.lock();
        fixed.lock();
        clock.advance(LEASE);
        assertThat(fixed.isHeldByCurrentThread()).isFalse();
        assertThat(fixed.holdCount())
                .as("a lost hold counts until it is given up")
                .isEqualTo(2);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(fixed::lock);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(fixed::tryLock);
        for (int i = 0; i < 2; i++) {
            assertThatExceptionOfType(LockLostException.class)
                    .isThrownBy(fixed::unlock)
                    .satisfies(lost -> assertThat(lost.reason()).isEqualTo(LossReason.EXPIRED))
                    .withMessageContaining("again");
        }
        assertThat(fixed.holdCount()).isZero();
        assertThat(fixed.tryLock()).as("taken anew after it was given up").isTrue();
        fixed.unlock();
    }

    @Test
    void aLeaseOfALockThatTheThreadHoldsIsRefusedAtOnceInsteadOfWaitingForItself() {
        lock.lock();
        store.reset();
        assertThatExceptionOfType(LockException.class)
                .isThrownBy(lock::acquire)
                .withMessageContainingAll("again", "itself");
        assertThatExceptionOfType(LockException.class).isThrownBy(() -> lock.acquire(Duration.ofDays(1)));
        assertThat(lock.tryAcquire()).isEmpty();
        assertThatExceptionOfType(LockTimeoutException.class).isThrownBy(() -> lock.acquire(Duration.ZERO));
        assertThat(store.total()).isZero();
        lock.unlock();
        assertThat(isUnused("again")).isTrue();
    }

    @Test
    void tryAcquireIsEmptyWhileTheThreadHoldsTheReadLockThoughOthersCouldShareIt() {
        DistributedReadWriteLock pair = locks.readWriteLock("again");
        pair.readLock().lock();
        assertThat(pair.readLock().tryAcquire()).isEmpty();
        pair.readLock().unlock();
    }

    /** A lease belongs to no thread: a second lease waits for the first, even on the same thread. */
    @Test
    void aLeaseIsNeverReentrant() throws InterruptedException {
        Lease first = a.get(() -> lock.acquire());
        assertThat(a.get(() -> lock.tryAcquire())).isEmpty();
        assertThat(a.get(() -> lock.tryLock())).isFalse();
        CompletableFuture<Lease> second = a.park(() -> lock.acquire());
        first.release();
        Lease taken = Actor.end(second);
        assertThat(taken.token()).isGreaterThan(first.token());
        taken.release();
    }

    @Test
    void aLeaseDoesNotCountAsAHoldOfTheThread() throws InterruptedException {
        try (Lease lease = lock.acquire()) {
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            assertThat(lock.holdCount()).isZero();
            assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(lock::unlock);
            assertThat(lease.isValid()).isTrue();
        }
    }
}
