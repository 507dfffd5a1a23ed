package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.HistoryChecker;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.FaultyStore;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Sixteen threads of two clients are interrupted at random moments. There are never more holders than allowed,
 * every token is larger than the one before, and nothing is left in the store. The tests run in real time, on the
 * system's clock.
 */
class StormTest {

    private static final Duration SHORT = Duration.ofMillis(2);

    private final MemoryLockStore memory = new MemoryLockStore();
    private final FaultyStore network = new FaultyStore(memory);
    private Holdfast first = Holdfast.over(network);
    private Holdfast second = Holdfast.over(network);
    private final AtomicLong expected = new AtomicLong();

    /** The lock under test guards this field, and nothing else does. */
    private long counter;

    private Holdfast clientOf(int thread) {
        return thread % 2 == 0 ? first : second;
    }

    private void work(Random random) {
        long seen = counter;
        if (random.nextInt(8) == 0) {
            Thread.yield();
        }
        counter = seen + 1;
        expected.incrementAndGet();
    }

    private void assertNothingIsLeft() {
        Wait.until(
                "nothing is left in the store",
                () -> memory.list("", 10).toCompletableFuture().join().isEmpty());
    }

    @AfterEach
    void close() {
        network.randomly(0, 0);
        first.close();
        second.close();
        assertNothingIsLeft();
    }

    @ParameterizedTest
    @ValueSource(strings = {"platform", "virtual"})
    void aMutexTakenInEveryWay(String kind) {
        HistoryChecker history = new HistoryChecker(1);
        new Storm("mutex", kind)
                .rage(1_500, (random, thread) -> anyWay(random, thread, LockOptions.defaults(), history));
        assertSound(history);
    }

    @ParameterizedTest
    @ValueSource(strings = {"platform", "virtual"})
    void aFairMutex(String kind) {
        HistoryChecker history = new HistoryChecker(1);
        LockOptions fair = LockOptions.defaults().withFair(true);
        new Storm("fair", kind).rage(150, (random, thread) -> anyWay(random, thread, fair, history));
        assertSound(history);
    }

    @ParameterizedTest
    @ValueSource(strings = {"platform", "virtual"})
    void aSpinningMutex(String kind) {
        HistoryChecker history = new HistoryChecker(1);
        LockOptions spin = LockOptions.defaults().withSpin(true);
        new Storm("spin", kind).rage(100, (random, thread) -> anyWay(random, thread, spin, history));
        assertSound(history);
    }

    /** The waiters cannot inherit each other's queue position or grant. */
    @ParameterizedTest
    @ValueSource(strings = {"platform", "virtual"})
    void aMutexWithMixedOptions(String kind) {
        HistoryChecker history = new HistoryChecker(1);
        List<LockOptions> mixed = List.of(
                LockOptions.defaults(),
                LockOptions.defaults().withLease(Duration.ofSeconds(40)),
                LockOptions.defaults().withFixedLease(Duration.ofSeconds(30)),
                LockOptions.defaults().withFair(true),
                LockOptions.defaults().withSpin(true));
        new Storm("mixed", kind)
                .rage(100, (random, thread) -> anyWay(random, thread, mixed.get(random.nextInt(5)), history));
        assertSound(history);
    }

    /** There are no hand-offs, so every acquisition and every release goes over the network. */
    @ParameterizedTest
    @ValueSource(strings = {"platform", "virtual"})
    void aMutexOverABadNetwork(String kind) {
        first.close();
        second.close();
        first = Holdfast.builder().store(network).handOffs(0).connect();
        second = Holdfast.builder().store(network).handOffs(0).connect();
        HistoryChecker history = new HistoryChecker(1);
        network.delayBy(Duration.ofMillis(1))
                .randomly(
                        Seeds.of("bad network" + kind),
                        0.15,
                        Fault.REFUSE,
                        Fault.DROP_REQUEST,
                        Fault.DROP_REPLY,
                        Fault.DELAY);
        new Storm("bad network", kind)
                .rage(60, (random, thread) -> anyWay(random, thread, LockOptions.defaults(), history));
        network.randomly(0, 0);
        assertSound(history);
        for (Fault fault : List.of(Fault.REFUSE, Fault.DROP_REQUEST, Fault.DROP_REPLY, Fault.DELAY)) {
            assertThat(network.met(fault))
                    .as("how often %s was injected", fault)
                    .isPositive();
        }
    }

    private void assertSound(HistoryChecker history) {
        assertThat(counter).isEqualTo(expected.get());
        assertThat(history.size()).isPositive();
        history.check();
        assertNothingIsLeft();
    }

    private void anyWay(Random random, int thread, LockOptions options, HistoryChecker history) throws Exception {
        DistributedLock lock = clientOf(thread).lock("storm", options);
        long asked = System.nanoTime();
        switch (random.nextInt(7)) {
            case 0 -> {
                lock.lock();
                hold(lock, random, thread, asked, history);
            }
            case 1 -> {
                lock.lockInterruptibly();
                hold(lock, random, thread, asked, history);
            }
            case 2 -> {
                if (lock.tryLock()) {
                    hold(lock, random, thread, asked, history);
                }
            }
            case 3 -> {
                if (lock.tryLock(random.nextInt(2_000), TimeUnit.MICROSECONDS)) {
                    hold(lock, random, thread, asked, history);
                }
            }
            case 4 -> hold(lock.acquire(), random, thread, asked, history);
            case 5 -> {
                try {
                    hold(lock.acquire(SHORT), random, thread, asked, history);
                } catch (LockTimeoutException busy) {
                    assertThat(busy).hasMessageContaining("storm");
                }
            }
            default -> future(lock.acquireAsync(), random, thread, asked, history);
        }
    }

    private void hold(DistributedLock lock, Random random, int thread, long asked, HistoryChecker history) {
        HistoryChecker.OpenHold open =
                history.acquired("thread " + thread, 1, lock.token(), asked, HistoryChecker.NEVER_QUEUED);
        if (random.nextInt(4) == 0) {
            lock.lock();
            work(random);
            lock.unlock();
        }
        work(random);
        open.ending();
        lock.unlock();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }

    private void hold(Lease lease, Random random, int thread, long asked, HistoryChecker history) {
        HistoryChecker.OpenHold open =
                history.acquired("lease " + thread, 1, lease.token(), asked, HistoryChecker.NEVER_QUEUED);
        work(random);
        open.ending();
        lease.release();
    }

    private void future(CompletableFuture<Lease> future, Random random, int thread, long asked, HistoryChecker history)
            throws InterruptedException, ExecutionException {
        if (random.nextBoolean()) {
            future.cancel(false);
        }
        try {
            if (!future.isCancelled()) {
                hold(future.get(), random, thread, asked, history);
            }
        } catch (InterruptedException givenUp) {
            if (!future.cancel(false)) {
                hold(future.join(), random, thread, asked, history);
            }
            throw givenUp;
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"platform", "virtual"})
    void readersAndWritersWhoDowngrade(String kind) {
        HistoryChecker history = new HistoryChecker(Claim.ALL);
        new Storm("read-write", kind).rage(200, (random, thread) -> {
            DistributedReadWriteLock pair = clientOf(thread).readWriteLock("storm");
            long asked = System.nanoTime();
            if (random.nextInt(3) == 0) {
                pair.writeLock().lockInterruptibly();
                var open = history.acquired(
                        "writer " + thread, Claim.ALL, pair.writeLock().token(), asked, HistoryChecker.NEVER_QUEUED);
                work(random);
                if (random.nextBoolean()) {
                    pair.readLock().lock();
                    open.ending();
                    pair.writeLock().unlock();
                    pair.readLock().unlock();
                } else {
                    open.ending();
                    pair.writeLock().unlock();
                }
            } else {
                pair.readLock().lockInterruptibly();
                var open = history.acquired(
                        "reader " + thread, 1, pair.readLock().token(), asked, HistoryChecker.NEVER_QUEUED);
                long seen = counter;
                Thread.yield();
                assertThat(counter).as("what a reader sees twice").isEqualTo(seen);
                open.ending();
                pair.readLock().unlock();
            }
        });
        assertSound(history);
    }

    @ParameterizedTest
    @ValueSource(strings = {"platform", "virtual"})
    void aSemaphoreWithWeights(String kind) {
        HistoryChecker history = new HistoryChecker(5);
        new Storm("semaphore", kind).rage(150, (random, thread) -> {
            DistributedSemaphore pool = clientOf(thread).semaphore("storm", 5);
            int permits = 1 + random.nextInt(5);
            long asked = System.nanoTime();
            Lease lease = pool.acquire(permits);
            var open = history.acquired("thread " + thread, permits, lease.token(), asked, HistoryChecker.NEVER_QUEUED);
            open.ending();
            lease.release();
        });
        history.check();
        assertNothingIsLeft();
    }

    @ParameterizedTest
    @ValueSource(strings = {"platform", "virtual"})
    void multiLocksOfOverlappingNames(String kind) {
        List<List<String>> sets =
                List.of(List.of("a", "b"), List.of("b", "c"), List.of("c", "a"), List.of("a", "b", "c"));
        HistoryChecker history = new HistoryChecker(1);
        new Storm("multi", kind).rage(100, (random, thread) -> {
            List<String> names = sets.get(random.nextInt(sets.size()));
            DistributedLock several = clientOf(thread).multiLock(names, LockOptions.defaults());
            long asked = System.nanoTime();
            if (random.nextBoolean()) {
                several.lockInterruptibly();
            } else if (!several.tryLock(random.nextInt(3_000), TimeUnit.MICROSECONDS)) {
                return;
            }
            try {
                if (names.contains("a")) {
                    long token = clientOf(thread).lock("a").token();
                    var open = history.acquired("thread " + thread, 1, token, asked, HistoryChecker.NEVER_QUEUED);
                    work(random);
                    open.ending();
                }
            } finally {
                several.unlock();
            }
        });
        assertSound(history);
    }

    /**
     * One name is used rarely, so that the engine creates and drops its record again and again while the threads
     * run.
     */
    @ParameterizedTest
    @ValueSource(strings = {"platform", "virtual"})
    void aNameThatIsRarelyContended(String kind) {
        LockStore own = new MemoryLockStore();
        try (Holdfast client = Holdfast.over(own)) {
            AtomicLong holders = new AtomicLong();
            new Storm("rare", kind).rage(1_000, (random, thread) -> {
                DistributedLock lock = client.lock("rare" + random.nextInt(8));
                if (lock.tryLock()) {
                    holders.incrementAndGet();
                    lock.unlock();
                }
                lock.lockInterruptibly();
                lock.unlock();
            });
            assertThat(holders.get()).isPositive();
            Wait.until("nothing is left", () -> client.list("", 10).isEmpty());
        }
    }
}
