package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.testkit.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/**
 * Tests of the notifications of a loss: each listener is called once, on a thread of its own, and the holder's
 * thread is interrupted if it asked for that.
 */
class LossListenerTest extends EngineFixture {

    private static final LockOptions FIXED = LockOptions.defaults().withFixedLease(LEASE);

    private final DistributedLock fixed = locks.lock("listener", FIXED);

    @Test
    void eachListenerIsCalledOnceOnAThreadThatIsNeitherTheHoldersNorTheTimers() throws InterruptedException {
        Queue<String> calls = new ConcurrentLinkedQueue<>();
        Queue<Thread> on = new ConcurrentLinkedQueue<>();
        DistributedLock lock = locks.lock("listener", FIXED.withOnLost(reason -> {
            calls.add("option " + reason);
            on.add(Thread.currentThread());
        }));
        Lease lease = lock.acquire();
        for (int i = 0; i < 3; i++) {
            String name = "listener " + i + " ";
            lease.onLost(reason -> {
                calls.add(name + reason);
                on.add(Thread.currentThread());
            });
        }
        clock.advance(LEASE);
        Wait.until("all listeners were called", () -> on.size() >= 4);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::release);
        clock.advanceAndSettle(LEASE);
        awaitCallbacks(locks);
        assertThat(calls)
                .containsExactlyInAnyOrder(
                        "option EXPIRED", "listener 0 EXPIRED", "listener 1 EXPIRED", "listener 2 EXPIRED");
        assertThat(on)
                .doesNotContain(Thread.currentThread())
                .noneMatch(thread -> thread.getName().equals("holdfast-losses")
                        || thread.getName().equals("holdfast-renewals")
                        || thread.getName().startsWith("holdfast-io"));
    }

    @Test
    void aListenerThatBlocksForEverHoldsUpNoOtherAndNoRenewalAndNoTimer() throws InterruptedException {
        CountDownLatch never = new CountDownLatch(1);
        CountDownLatch blocked = new CountDownLatch(2);
        Lease first = fixed.acquire();
        for (int i = 0; i < 2; i++) {
            first.onLost(reason -> {
                blocked.countDown();
                try {
                    never.await();
                } catch (InterruptedException end) {
                    Thread.currentThread().interrupt();
                }
            });
        }
        CompletableFuture<LossReason> other = new CompletableFuture<>();
        first.onLost(other::complete);
        Lease renewed = locks.lock("renewed").acquire();
        clock.advance(LEASE.minusSeconds(1));
        Wait.until("it was renewed", () -> renewed.remaining().compareTo(Duration.ofSeconds(25)) > 0);
        clock.advance(Duration.ofSeconds(1));
        blocked.await();
        assertThat(Actor.end(other)).isEqualTo(LossReason.EXPIRED);

        for (int third = 0; third < 6; third++) {
            clock.advance(Duration.ofSeconds(10));
            Wait.until("it was renewed", () -> renewed.remaining().compareTo(Duration.ofSeconds(25)) > 0);
        }
        Lease second = fixed.acquire();
        CompletableFuture<LossReason> later = new CompletableFuture<>();
        second.onLost(later::complete);
        clock.advance(LEASE.minusSeconds(1));
        Wait.until("it was renewed", () -> renewed.remaining().compareTo(Duration.ofSeconds(25)) > 0);
        clock.advance(Duration.ofSeconds(1));
        assertThat(Actor.end(later)).isEqualTo(LossReason.EXPIRED);
        assertThat(Actor.end(locks.lock("free").acquireAsync()).isValid()).isTrue();
        renewed.release();
        never.countDown();
    }

    @Test
    void aListenerThatThrowsHarmsNoOther() throws InterruptedException {
        Lease lease = fixed.acquire();
        CountDownLatch called = new CountDownLatch(4);
        for (int i = 0; i < 4; i++) {
            boolean throwsUp = i % 2 == 0;
            lease.onLost(reason -> {
                called.countDown();
                if (throwsUp) {
                    Thread.currentThread().setUncaughtExceptionHandler((thread, expected) -> {});
                    throw new IllegalStateException("a listener's own failure");
                }
            });
        }
        clock.advance(LEASE);
        assertThat(called.await(Wait.LONGEST_SECONDS, TimeUnit.SECONDS)).isTrue();
        Lease next = fixed.acquire();
        CompletableFuture<LossReason> reported = new CompletableFuture<>();
        next.onLost(reported::complete);
        clock.advance(LEASE);
        Actor.end(reported);
    }

    @Test
    void aListenerThatComesAfterTheLossIsCalledAtOnce() throws InterruptedException {
        Lease lease = fixed.acquire();
        clock.advance(LEASE);
        awaitUnused("listener");
        CompletableFuture<LossReason> reported = new CompletableFuture<>();
        lease.onLost(reported::complete);
        assertThat(Actor.end(reported)).isEqualTo(LossReason.EXPIRED);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::release);
    }

    /** Callbacks go to a queue of the test, which stays empty. */
    @Test
    void noListenerIsCalledAfterARelease() throws InterruptedException {
        Queue<Runnable> callbacks = new ConcurrentLinkedQueue<>();
        Holdfast mine = client(Holdfast.builder().store(memory).callbacks(callbacks::add));
        DistributedLock lock =
                mine.lock("listener", FIXED.withOnLost(reason -> {}).withInterruptOnLoss(true));
        Lease lease = lock.acquire();
        lease.onLost(reason -> {});
        lease.release();
        lease.onLost(reason -> {});
        lock.lock();
        lock.unlock();
        clock.advanceAndSettle(LEASE.multipliedBy(2));
        lease.onLost(reason -> {});
        awaitCallbacks(mine);
        assertThat(callbacks).isEmpty();
    }

    @Test
    void listenersGoToTheUsersExecutorIfThereIsOne() throws InterruptedException {
        Queue<Runnable> callbacks = new ConcurrentLinkedQueue<>();
        Holdfast mine = client(Holdfast.builder().store(memory).callbacks(callbacks::add));
        Lease lease = mine.lock("listener", FIXED).acquire();
        AtomicInteger called = new AtomicInteger();
        lease.onLost(reason -> called.incrementAndGet());
        clock.advance(LEASE);
        Wait.until("a callback was handed over", () -> !callbacks.isEmpty());
        assertThat(called).hasValue(0);
        callbacks.forEach(Runnable::run);
        assertThat(called).hasValue(1);
    }

    @Test
    void anExecutorThatWasShutDownDoesNotSilenceAListener() throws InterruptedException {
        ExecutorService executor = Executors.newSingleThreadExecutor();
        Holdfast mine = client(Holdfast.builder().store(memory).callbacks(executor));
        executor.shutdown();
        Lease lease = mine.lock("listener", FIXED).acquire();
        CompletableFuture<LossReason> reported = new CompletableFuture<>();
        lease.onLost(reported::complete);
        clock.advance(LEASE);
        Actor.end(reported);
    }

    @Test
    void interruptOnLossHitsTheThreadThatHolds() {
        DistributedLock lock = locks.lock("listener", FIXED.withInterruptOnLoss(true));
        CountDownLatch held = new CountDownLatch(1);
        CompletableFuture<Void> working = a.begin(() -> {
            lock.lock();
            held.countDown();
            try {
                new CountDownLatch(1).await();
            } finally {
                lock.unlock();
            }
        });
        Wait.until("it is held", () -> held.getCount() == 0);
        assertThat(working).isNotDone();
        clock.advance(LEASE);
        Actor.failure(LockLostException.class, working);
    }

    @Test
    void noInterruptWithoutTheOption() {
        CountDownLatch mayEnd = new CountDownLatch(1);
        CountDownLatch held = new CountDownLatch(1);
        // An interrupt between two actions would be forgotten.
        CompletableFuture<Void> working = a.begin(() -> {
            fixed.lock();
            held.countDown();
            mayEnd.await();
        });
        Wait.until("it is held", () -> held.getCount() == 0);
        clock.advanceAndSettle(LEASE);
        awaitCallbacks(locks);
        mayEnd.countDown();
        Actor.end(working);
        Actor.failure(LockLostException.class, a.begin(fixed::unlock));
    }

    /** The interrupt waits in an executor until the holder has released. Then it must not interrupt any thread. */
    @Test
    void anInterruptThatIsLateDoesNotHitAThreadThatHasReleased() {
        Queue<Runnable> callbacks = new ConcurrentLinkedQueue<>();
        Holdfast mine = client(Holdfast.builder().store(memory).callbacks(callbacks::add));
        DistributedLock lock = mine.lock("listener", FIXED.withInterruptOnLoss(true));
        a.run(lock::lock);
        clock.advance(LEASE);
        Wait.until("the interrupt is on its way", () -> !callbacks.isEmpty());
        Actor.failure(LockLostException.class, a.begin(lock::unlock));
        CompletableFuture<Boolean> flag = a.start(() -> {
            callbacks.forEach(Runnable::run);
            return Thread.currentThread().isInterrupted();
        });
        assertThat(Actor.end(flag)).isFalse();
    }

    /**
     * Losses come at random moments around the unlock. After unlock has returned, the interrupt flag must not
     * change.
     */
    @Test
    void noInterruptOnLossEverHitsAThreadAfterItsUnlock() throws InterruptedException {
        long seed = Seeds.of("interruptOnLoss");
        Random random = new Random(seed);
        DistributedLock lock = locks.lock("listener", FIXED.withInterruptOnLoss(true));
        int hits = 0;
        for (int round = 0; round < 1_000; round++) {
            int before = random.nextInt(200);
            int after = random.nextInt(300_000);
            CountDownLatch held = new CountDownLatch(1);
            CompletableFuture<List<Boolean>> working = a.start(() -> {
                lock.lock();
                held.countDown();
                LockSupport.parkNanos(after);
                List<Boolean> flags = new ArrayList<>();
                try {
                    lock.unlock();
                    flags.add(false);
                } catch (LockLostException lost) {
                    flags.add(true);
                }
                Thread.interrupted();
                spin(500);
                flags.add(Thread.interrupted());
                return flags;
            });
            assertThat(held.await(Wait.LONGEST_SECONDS, TimeUnit.SECONDS)).isTrue();
            spin(before);
            clock.advance(LEASE);
            List<Boolean> flags = Actor.end(working);
            hits += flags.get(0) ? 1 : 0;
            assertThat(flags.get(1))
                    .as("hit after unlock, round %d, seed %d", round, seed)
                    .isFalse();
        }
        System.out.println("interruptOnLoss: " + hits + " of 1000 holds were lost before their unlock, seed " + seed);
    }

    private static void spin(int times) {
        for (int i = 0; i < times; i++) {
            Thread.onSpinWait();
        }
    }
}
