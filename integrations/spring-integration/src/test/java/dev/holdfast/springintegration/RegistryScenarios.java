package dev.holdfast.springintegration;

import static dev.holdfast.testkit.StoreTest.awaitUntil;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.Holdfast;
import dev.holdfast.LockOptions;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.integration.support.locks.DistributedLock;

/** What Spring Integration asks of its own registries, on one store; two registries are two processes to it. */
abstract class RegistryScenarios {

    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Duration LONG = Duration.ofMinutes(10);

    private final Holdfast mine;
    private final Holdfast theirs;
    private final HoldfastLockRegistry registry;
    private final HoldfastLockRegistry other;
    private final String key = "key-" + UUID.randomUUID();
    private final ExecutorService thread = Executors.newSingleThreadExecutor();

    RegistryScenarios(String url) {
        mine = Holdfast.connect(url);
        theirs = Holdfast.connect(url);
        registry = new HoldfastLockRegistry(mine, "app:", LockOptions.defaults());
        other = new HoldfastLockRegistry(theirs, "app:", LockOptions.defaults());
    }

    @AfterEach
    final void close() {
        thread.shutdownNow();
        mine.close();
        theirs.close();
    }

    private boolean elsewhereIsFree() {
        boolean free = other.obtain(key).tryLock();
        if (free) {
            other.obtain(key).unlock();
        }
        return free;
    }

    private Throwable failureOf(Future<?> task) throws InterruptedException {
        try {
            task.get();
        } catch (ExecutionException failed) {
            return failed.getCause();
        }
        throw new AssertionError("It did not fail");
    }

    @Test
    final void eachWayToLockExcludesTheOtherRegistryUntilTheUnlock() throws InterruptedException {
        DistributedLock lock = registry.obtain(key);
        lock.lock();
        assertThat(elsewhereIsFree()).isFalse();
        lock.unlock();
        lock.lockInterruptibly();
        assertThat(elsewhereIsFree()).isFalse();
        lock.unlock();
        assertThat(lock.tryLock()).isTrue();
        assertThat(elsewhereIsFree()).isFalse();
        lock.unlock();
        assertThat(lock.tryLock(1, TimeUnit.MINUTES)).isTrue();
        assertThat(elsewhereIsFree()).isFalse();
        lock.unlock();
        assertThat(lock.tryLock(LONG, LONG)).isTrue();
        assertThat(elsewhereIsFree()).isFalse();
        lock.unlock();
        lock.lock(LONG);
        assertThat(elsewhereIsFree()).isFalse();
        lock.unlock();
        assertThat(elsewhereIsFree()).isTrue();
    }

    @Test
    final void aThreadLocksAgainThroughAnyObjectOfTheKey() throws InterruptedException {
        Lock first = registry.obtain(key);
        Lock second = registry.obtain(key);
        assertThat(first).isEqualTo(second).hasSameHashCodeAs(second).isNotEqualTo(other.obtain(key));
        first.lock();
        second.lock();
        first.lockInterruptibly();
        assertThat(second.tryLock()).isTrue();
        for (int i = 0; i < 3; i++) {
            second.unlock();
            assertThat(elsewhereIsFree()).isFalse();
        }
        first.unlock();
        assertThat(elsewhereIsFree()).isTrue();
    }

    @Test
    final void twoKeysAreTwoLocksAndKeysAreKnownByTheirText() {
        registry.obtain(key).lock();
        assertThat(other.obtain(key + "2").tryLock()).isTrue();
        other.obtain(key + "2").unlock();
        assertThat(other.obtain(new StringBuilder(key)).tryLock()).isFalse();
        registry.obtain(key).unlock();
    }

    @Test
    final void anotherThreadWaitsForTheUnlock() throws Exception {
        Lock lock = registry.obtain(key);
        lock.lock();
        assertThat(thread.submit(() -> lock.tryLock()).get()).isFalse();
        Future<Boolean> waiting = thread.submit(() -> {
            lock.lock();
            lock.unlock();
            return true;
        });
        awaitUntil(() -> mine.waitingCount() == 1);
        lock.unlock();
        assertThat(waiting.get()).isTrue();
    }

    /** It is woken by the release, and long before its time is over. */
    @Test
    final void anotherRegistryIsWokenByTheUnlock() throws Exception {
        Lock lock = registry.obtain(key);
        lock.lock();
        Future<Boolean> waiting = thread.submit(() -> other.obtain(key).tryLock(Duration.ofHours(1), LONG));
        awaitUntil(() -> theirs.waitingCount() == 1);
        lock.unlock();
        assertThat(waiting.get()).isTrue();
        assertThat(lock.tryLock()).isFalse();
        thread.submit(() -> other.obtain(key).unlock()).get();
    }

    @Test
    final void aWaitThatIsInterruptedLeavesNothing() throws Exception {
        registry.obtain(key).lock();
        Thread[] waiter = new Thread[1];
        Future<?> waiting = thread.submit(() -> {
            waiter[0] = Thread.currentThread();
            other.obtain(key).lockInterruptibly();
            return null;
        });
        awaitUntil(() -> theirs.waitingCount() == 1);
        waiter[0].interrupt();
        assertThat(failureOf(waiting)).isInstanceOf(InterruptedException.class);
        registry.obtain(key).unlock();
        awaitUntil(this::elsewhereIsFree); // see codeRunsUnderTheLock
    }

    @Test
    final void onlyTheHolderUnlocksAndRenews() throws Exception {
        Lock lock = registry.obtain(key);
        assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(lock::unlock);
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> registry.renewLock(key));
        lock.lock();
        assertThat(failureOf(thread.submit(lock::unlock))).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(failureOf(thread.submit(() -> registry.renewLock(key))))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(key);
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> other.renewLock(key, LONG));
        assertThat(elsewhereIsFree()).isFalse();
        lock.unlock();
    }

    @Test
    final void aLockWithATimeToLiveEndsWithIt() {
        DistributedLock lock = registry.obtain(key);
        lock.lock(SHORT);
        awaitUntil(this::elsewhereIsFree);
        other.obtain(key).lock();
        assertThatExceptionOfType(ConcurrentModificationException.class)
                .isThrownBy(lock::unlock)
                .withMessageContaining(key)
                .withCauseInstanceOf(dev.holdfast.LockLostException.class);
        assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(lock::unlock);
        assertThat(lock.tryLock()).isFalse();
        other.obtain(key).unlock();
    }

    @Test
    final void aRenewedLockOutlivesItsTimeToLive() throws InterruptedException {
        DistributedLock lock = registry.obtain(key);
        awaitUntil(() -> isLockedAndRenewed(lock));
        // Its time began later than that of the lock.
        registry.obtain(key + "-twin").lock(SHORT);
        awaitUntil(other.obtain(key + "-twin")::tryLock);
        assertThat(elsewhereIsFree()).isFalse();
        registry.renewLock(key);
        lock.unlock();
        assertThat(elsewhereIsFree()).isTrue();
    }

    // A thread that is paused comes too late to renew it.
    private boolean isLockedAndRenewed(DistributedLock lock) {
        lock.lock(SHORT);
        try {
            registry.renewLock(key, LONG);
            return true;
        } catch (IllegalStateException tooLate) {
            assertThatExceptionOfType(ConcurrentModificationException.class).isThrownBy(lock::unlock);
            return false;
        }
    }

    @Test
    final void nothingIsForgottenOfALockThatIsHeld() {
        registry.obtain(key).lock();
        registry.expireUnusedOlderThan(0);
        assertThat(elsewhereIsFree()).isFalse();
        registry.obtain(key).unlock();
        assertThat(elsewhereIsFree()).isTrue();
    }

    @Test
    final void codeRunsUnderTheLock() throws Exception {
        String result = registry.executeLocked(key, () -> {
            assertThat(elsewhereIsFree()).isFalse();
            return "done";
        });
        assertThat(result).isEqualTo("done");
        other.obtain(key).lock();
        assertThatExceptionOfType(TimeoutException.class)
                .isThrownBy(() -> registry.executeLocked(key, Duration.ofMillis(20), () -> {}));
        other.obtain(key).unlock();
        // The end of a wait is delayed for a tenth of a second at most. If the claim takes longer to leave the
        // store, it may be granted once more, and is given back.
        awaitUntil(this::elsewhereIsFree);
    }
}
