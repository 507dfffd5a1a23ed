package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Tests each clause of the contract of {@link java.util.concurrent.locks.Lock}. */
class LockContractTest extends EngineFixture {

    private final DistributedLock lock = locks.lock("contract");
    private final DistributedLock theirs = rival.lock("contract");

    @Test
    void lockExcludesOtherThreadsAndOtherClientsUntilUnlock() {
        a.run(lock::lock);
        CompletableFuture<Void> local = b.parkIn(lock::lock);
        CompletableFuture<Void> remote = c.parkIn(theirs::lock);
        assertThat(local).isNotDone();
        assertThat(remote).isNotDone();

        a.run(lock::unlock);
        Actor.end(local);
        assertThat(remote).isNotDone();

        b.run(lock::unlock);
        Actor.end(remote);
        c.run(theirs::unlock);
        awaitUnused("contract");
    }

    /** Before, a lock that was free unparked its own thread, and a pause that the program made by parking ended at once. */
    @Test
    void lockThatIsFreeDoesNotEndTheNextParkOfItsThread() {
        Object pause = new Object();
        CompletableFuture<Boolean> pausing = a.start(() -> {
            // The queue of the actor's work may have left it a permit, which this uses up.
            LockSupport.unpark(Thread.currentThread());
            LockSupport.park();
            lock.lock();
            LockSupport.park(pause);
            return true;
        });
        Wait.until("the thread is parked, or was", () -> pausing.isDone() || isParked(a.thread(), pause));
        assertThat(pausing).isNotDone();
        LockSupport.unpark(a.thread());
        Actor.end(pausing);
        a.run(lock::unlock);
    }

    private static boolean isParked(Thread thread, Object blocker) {
        return thread.getState() == Thread.State.WAITING && LockSupport.getBlocker(thread) == blocker;
    }

    @Test
    void lockKeepsAnInterruptThatCameBeforeTheCall() {
        boolean flag = a.get(() -> {
            Thread.currentThread().interrupt();
            lock.lock();
            return Thread.currentThread().isInterrupted();
        });
        assertThat(flag).isTrue();
        a.run(lock::unlock);
    }

    @Test
    void lockKeepsAnInterruptThatCameDuringTheWaitAndGoesOnWaiting() {
        a.run(lock::lock);
        CompletableFuture<Boolean> waiting = b.park(() -> {
            lock.lock();
            return Thread.currentThread().isInterrupted();
        });
        b.interrupt();
        Wait.until("the thread has noticed the interrupt", () -> !b.thread().isInterrupted());
        assertThat(waiting).isNotDone();

        a.run(lock::unlock);
        assertThat(Actor.end(waiting)).isTrue();
        b.run(lock::unlock);
    }

    @Test
    void lockWithTheFlagSetWaitsWithoutBurningTheProcessor() {
        a.run(lock::lock);
        CompletableFuture<Boolean> waiting = b.park(() -> {
            Thread.currentThread().interrupt();
            lock.lock();
            return Thread.interrupted();
        });
        Wait.until("the thread is parked", () -> b.thread().getState() == Thread.State.WAITING);
        a.run(lock::unlock);
        assertThat(Actor.end(waiting)).isTrue();
        b.run(lock::unlock);
    }

    @Test
    void lockInterruptiblyThrowsIfTheFlagIsSetOnEntryThoughTheLockIsFree() {
        CompletableFuture<Boolean> locking = a.start(() -> {
            Thread.currentThread().interrupt();
            try {
                lock.lockInterruptibly();
                return null;
            } catch (InterruptedException expected) {
                return Thread.currentThread().isInterrupted();
            }
        });
        assertThat(Actor.end(locking)).as("the flag, after the exception").isFalse();
        assertThat(store.total()).isZero();
    }

    @Test
    void lockInterruptiblyThrowsIfTheFlagIsSetOnEntryThoughTheThreadHoldsTheLock() {
        a.run(lock::lock);
        CompletableFuture<Void> locking = a.begin(() -> {
            Thread.currentThread().interrupt();
            lock.lockInterruptibly();
        });
        Actor.failure(InterruptedException.class, locking);
        assertThat(a.get(lock::holdCount)).isEqualTo(1);
        a.run(lock::unlock);
    }

    @Test
    void lockInterruptiblyEndsItsWaitAtAnInterruptAndClearsTheFlag() {
        a.run(lock::lock);
        CompletableFuture<Boolean> waiting = b.park(() -> {
            try {
                lock.lockInterruptibly();
                return null;
            } catch (InterruptedException expected) {
                return Thread.currentThread().isInterrupted();
            }
        });
        b.interrupt();
        assertThat(Actor.end(waiting)).isFalse();
        assertThat(b.get(lock::isHeldByCurrentThread)).isFalse();
        a.run(lock::unlock);
        awaitUnused("contract");
    }

    @Test
    void tryLockIgnoresAndKeepsTheInterruptFlag() {
        assertThat(a.get(() -> {
                    Thread.currentThread().interrupt();
                    return lock.tryLock() && Thread.currentThread().isInterrupted();
                }))
                .isTrue();
        assertThat(b.get(() -> {
                    Thread.currentThread().interrupt();
                    return !lock.tryLock() && Thread.currentThread().isInterrupted();
                }))
                .isTrue();
        a.run(lock::unlock);
    }

    @Test
    void tryLockSaysAtOnceWhetherItIsFree() {
        assertThat(a.get(() -> lock.tryLock())).isTrue();
        assertThat(b.get(() -> lock.tryLock())).isFalse();
        assertThat(c.get(() -> theirs.tryLock())).isFalse();
        a.run(lock::unlock);
        assertThat(c.get(() -> theirs.tryLock())).isTrue();
        assertThat(b.get(() -> lock.tryLock())).isFalse();
        c.run(theirs::unlock);
    }

    @Test
    void tryLockForNoTimeOrLessDoesNotWait() {
        for (long time : new long[] {0, -1, Long.MIN_VALUE}) {
            assertThat(a.get(() -> lock.tryLock(time, TimeUnit.SECONDS))).isTrue();
            assertThat(b.get(() -> lock.tryLock(time, TimeUnit.SECONDS))).isFalse();
            assertThat(c.get(() -> theirs.tryLock(time, TimeUnit.SECONDS))).isFalse();
            a.run(lock::unlock);
        }
        awaitUnused("contract");
    }

    @Test
    void timedTryLockThrowsIfTheFlagIsSetOnEntryWhateverTheTime() {
        for (long time : new long[] {-1, 0, 1}) {
            CompletableFuture<Void> locking = a.begin(() -> {
                Thread.currentThread().interrupt();
                lock.tryLock(time, TimeUnit.SECONDS);
            });
            Actor.failure(InterruptedException.class, locking);
        }
        assertThat(store.total()).isZero();
    }

    @Test
    void timedTryLockEndsItsWaitAtAnInterruptAndLeavesNothing() {
        c.run(theirs::lock);
        CompletableFuture<Boolean> waiting = a.park(() -> lock.tryLock(1, TimeUnit.DAYS));
        awaitWaiters("contract", 1);
        a.interrupt();
        Actor.failure(InterruptedException.class, waiting);
        awaitWaiters("contract", 0);
        c.run(theirs::unlock);
    }

    @Test
    void timedTryLockWaitsForItsTimeAndNoLonger() {
        c.run(theirs::lock);
        CompletableFuture<Boolean> waiting = a.park(() -> lock.tryLock(20, TimeUnit.SECONDS));
        pass(Duration.ofMillis(19_999));
        assertThat(waiting).isNotDone();
        clock.advance(Duration.ofMillis(1));
        assertThat(Actor.end(waiting)).isFalse();
        awaitWaiters("contract", 0);
        c.run(theirs::unlock);
    }

    @Test
    void timedTryLockTakesTheLockWithinItsTime() {
        c.run(theirs::lock);
        CompletableFuture<Boolean> waiting = a.park(() -> lock.tryLock(20, TimeUnit.SECONDS));
        pass(Duration.ofSeconds(19));
        c.run(theirs::unlock);
        assertThat(Actor.end(waiting)).isTrue();
        a.run(lock::unlock);
    }

    /** If a time server or an administrator steps the wall clock, no wait becomes longer or shorter. */
    @Test
    void timedTryLockDoesNotCareForTheWallClock() {
        c.run(theirs::lock);
        CompletableFuture<Boolean> waiting = a.park(() -> lock.tryLock(20, TimeUnit.SECONDS));
        clock.stepWallClock(Duration.ofDays(-365));
        pass(Duration.ofSeconds(10));
        clock.stepWallClock(Duration.ofDays(3 * 365));
        pass(Duration.ofMillis(9_999));
        assertThat(waiting).isNotDone();
        clock.advance(Duration.ofMillis(1));
        assertThat(Actor.end(waiting)).isFalse();
        c.run(theirs::unlock);
    }

    @Test
    void timedTryLockOfAnEndlessTimeDoesNotOverflow() {
        c.run(theirs::lock);
        CompletableFuture<Boolean> waiting = a.park(() -> lock.tryLock(Long.MAX_VALUE, TimeUnit.DAYS));
        c.run(theirs::unlock);
        assertThat(Actor.end(waiting)).isTrue();
        a.run(lock::unlock);
    }

    @Test
    void unlockByAThreadThatHoldsNothingIsRefusedAndTouchesNothing() {
        a.run(lock::lock);
        IllegalMonitorStateException refused = Actor.failure(IllegalMonitorStateException.class, b.begin(lock::unlock));
        assertThat(refused).hasMessageContaining("contract").hasMessageContaining("B");
        Actor.failure(IllegalMonitorStateException.class, c.begin(theirs::unlock));
        assertThat(holders("contract")).isEqualTo(1);
        assertThat(a.get(lock::isHeldByCurrentThread)).isTrue();
        a.run(lock::unlock);
    }

    @Test
    void unlockOfAFreeLockIsRefusedWithoutATrip() {
        Actor.failure(IllegalMonitorStateException.class, a.begin(lock::unlock));
        assertThat(store.total()).isZero();
    }

    @Test
    void unlockTwiceIsRefusedTheSecondTime() {
        a.run(lock::lock);
        a.run(lock::unlock);
        Actor.failure(IllegalMonitorStateException.class, a.begin(lock::unlock));
        assertThat(a.get(() -> lock.tryLock())).as("the lock works on").isTrue();
        a.run(lock::unlock);
    }

    /**
     * A value that was written before unlock is read after the next lock of the name in this JVM, without a
     * volatile field.
     */
    @Test
    void whatOneHolderWroteTheNextOneReads() {
        int[] counter = new int[1];
        for (int round = 0; round < 50; round++) {
            for (Actor actor : new Actor[] {a, b, c}) {
                actor.run(() -> {
                    lock.lock();
                    counter[0]++;
                    lock.unlock();
                });
            }
        }
        assertThat(a.get(() -> {
                    lock.lock();
                    int read = counter[0];
                    lock.unlock();
                    return read;
                }))
                .isEqualTo(150);
    }
}
