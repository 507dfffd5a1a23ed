package dev.holdfast.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.fault.CountingStore;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.FaultyStore;
import dev.holdfast.testkit.fault.Verb;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.search.RequiredSearch;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HoldfastMetricsTest {

    private static final Duration LEASE = Duration.ofSeconds(30);

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final ManualClock clock = new ManualClock();
    private final FaultyStore store = new FaultyStore(new MemoryLockStore(clock));
    private final Holdfast locks = new HoldfastMetrics(registry)
            .connect(Holdfast.builder().store(store).clock(clock));

    @AfterEach
    void close() {
        locks.close();
    }

    // Some events come on another thread.
    private static void until(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    private RequiredSearch find(String name, String... tags) {
        return registry.get(name).tag("store", "memory").tags(tags);
    }

    private double count(String name, String... tags) {
        return registry.find(name).tag("store", "memory").tags(tags).meters().stream()
                .flatMap(meter -> {
                    var values = new java.util.ArrayList<Double>();
                    meter.measure().forEach(measured -> {
                        if (measured.getStatistic().name().equals("COUNT")) {
                            values.add(measured.getValue());
                        }
                    });
                    return values.stream();
                })
                .mapToDouble(Double::doubleValue)
                .sum();
    }

    @Test
    void acquisitionsAreTimedByOutcomeAndKindAndHoldsByTheirLength() {
        DistributedLock lock = locks.lock("order:42");
        lock.lock();
        assertThat(CompletableFuture.supplyAsync(lock::tryLock).join()).isFalse();
        clock.advance(Duration.ofSeconds(3));
        lock.unlock();
        locks.readWriteLock("catalogue").readLock().lock();
        locks.readWriteLock("catalogue").readLock().unlock();
        locks.readWriteLock("catalogue").writeLock().lock();
        locks.readWriteLock("catalogue").writeLock().unlock();
        locks.semaphore("pool", 3).tryAcquire(2).orElseThrow().release();
        assertThat(count("holdfast.acquire", "lock", "order:*", "kind", "mutex", "outcome", "acquired"))
                .isEqualTo(1);
        assertThat(count("holdfast.acquire", "lock", "order:*", "kind", "mutex", "outcome", "busy"))
                .isEqualTo(1);
        assertThat(count("holdfast.acquire", "lock", "catalogue", "kind", "read"))
                .isEqualTo(1);
        assertThat(count("holdfast.acquire", "lock", "catalogue", "kind", "write"))
                .isEqualTo(1);
        assertThat(count("holdfast.acquire", "lock", "pool", "kind", "permits")).isEqualTo(1);
        assertThat(find("holdfast.hold", "lock", "order:*").timer().totalTime(TimeUnit.SECONDS))
                .isEqualTo(3);
    }

    @Test
    void waitsAreTimedAndCountedWhileTheyLast() throws InterruptedException {
        Lease lease = locks.lock("a").acquire();
        CompletableFuture<Lease> waiting = locks.lock("a").acquireAsync();
        until(() -> find("holdfast.waiting").gauge().value() == 1);
        assertThat(find("holdfast.held").gauge().value()).isEqualTo(1);
        clock.advance(Duration.ofSeconds(2));
        lease.release();
        Lease next = waiting.join();
        assertThat(find("holdfast.waiting").gauge().value()).isZero();
        until(() -> count("holdfast.wait", "lock", "a", "outcome", "acquired") == 1);
        assertThat(find("holdfast.wait").timer().totalTime(TimeUnit.SECONDS)).isEqualTo(2);
        next.release();
        assertThat(find("holdfast.held").gauge().value()).isZero();
    }

    @Test
    void handOffsAreCounted() throws InterruptedException {
        Lease lease = locks.lock("a").acquire();
        CompletableFuture<Lease> waiting = locks.lock("a").acquireAsync();
        until(() -> locks.waitingCount() == 1);
        lease.release();
        waiting.join().release();
        until(() -> count("holdfast.handoffs", "lock", "a") == 1);
    }

    @Test
    void renewalsAndTheirDelayAndLossesAreCounted() throws InterruptedException {
        Lease lease = locks.lock("a").acquire();
        clock.advance(LEASE.dividedBy(3));
        until(() -> count("holdfast.renewals", "result", "ok") >= 1);
        store.partition();
        clock.advance(LEASE.multipliedBy(6).dividedBy(10));
        until(() -> count("holdfast.renewals.late", "lock", "a") == 1);
        clock.advance(LEASE);
        until(() -> count("holdfast.losses", "lock", "a") == 1);
        assertThat(lease.isValid()).isFalse();
        assertThat(locks.heldCount()).isZero();
        store.heal();
    }

    @Test
    void requestsAreTimedByWhatTheyAskedAndHowTheyEnded() {
        locks.lock("a").tryAcquire().orElseThrow().release();
        assertThat(locks.state("a")).isEmpty();
        store.next(Verb.INSPECT, Fault.REFUSE);
        try {
            locks.state("a");
        } catch (RuntimeException expected) {
            assertThat(expected).hasMessageContaining("a");
        }
        until(() -> count("holdfast.requests", "request", "inspect", "result", "failed") >= 1);
        assertThat(count("holdfast.requests", "request", "try_acquire", "result", "ok"))
                .isEqualTo(1);
        assertThat(count("holdfast.requests", "request", "release", "result", "ok"))
                .isEqualTo(1);
    }

    /** Whoever waits for 100 ms learns of the holder; the store is asked once for all that wait for the name. */
    @Test
    void waitsSayWhoHeldTheLockIfAsked() throws InterruptedException {
        ScheduledThreadPoolExecutor looks = new ScheduledThreadPoolExecutor(1);
        CountingStore counted = new CountingStore(new MemoryLockStore(clock));
        LockGroups labels = LockGroups.byName().withMost(1);
        HoldfastMetrics metrics =
                new HoldfastMetrics(registry, LockGroups.byPattern(), new HolderLookup(labels, looks), Tags.empty());
        try (Holdfast waiter = metrics.connect(Holdfast.builder().store(counted).clock(clock));
                Holdfast till = holder(counted, "till");
                Holdfast robot = holder(counted, "robot");
                Holdfast nobody = holder(counted, "")) {
            int done = 0;
            for (Holdfast holder : List.of(till, robot, nobody)) {
                Lease held = holder.lock("a").acquire();
                CountDownLatch allWait = new CountDownLatch(1);
                looks.submit(() -> allWait.await(1, TimeUnit.MINUTES));
                List<CompletableFuture<Lease>> waiting = Stream.generate(
                                () -> waiter.lock("a").acquireAsync())
                        .limit(3)
                        .toList();
                counted.reset();
                allWait.countDown();
                done += 4;
                int expected = done;
                until(() -> looks.getCompletedTaskCount() == expected);
                assertThat(counted.count(Verb.INSPECT)).isEqualTo(1);
                clock.advance(Duration.ofSeconds(1));
                held.release();
                waiting.forEach(lease -> lease.join().release());
            }
            assertThat(count("holdfast.wait", "held.by", "till")).isEqualTo(3);
            assertThat(count("holdfast.wait", "held.by", LockGroups.OTHER)).isEqualTo(3);
            assertThat(count("holdfast.wait", "held.by", "none")).isEqualTo(3);
            waiter.lock("a").tryAcquire().orElseThrow().release();
            assertThat(looks.getQueue()).allMatch(look -> ((Future<?>) look).isCancelled());
        } finally {
            looks.shutdownNow();
        }
    }

    private Holdfast holder(LockStore shared, String label) {
        return Holdfast.builder().store(shared).clock(clock).label(label).connect();
    }

    @Test
    void waitsDoNotSayWhoHeldTheLockUnlessAsked() throws InterruptedException {
        Lease lease = locks.lock("a").acquire();
        CompletableFuture<Lease> waiting = locks.lock("a").acquireAsync();
        until(() -> locks.waitingCount() == 1);
        clock.advance(Duration.ofSeconds(2));
        lease.release();
        waiting.join().release();
        assertThat(find("holdfast.wait").timer().getId().getTag("held.by")).isNull();
    }

    @Test
    void noMeterHasTheNameOfALockUnlessAsked() {
        for (int i = 0; i < 1_000; i++) {
            locks.lock("order:" + i, LockOptions.defaults())
                    .tryAcquire()
                    .orElseThrow()
                    .release();
        }
        assertThat(registry.getMeters().stream().map(Meter::getId).filter(id -> "order:7".equals(id.getTag("lock"))))
                .isEmpty();
        assertThat(registry.getMeters()).hasSizeLessThan(20);
    }

    /** A program may close its client and make another one. */
    @Test
    void theGaugesAreOfTheClientThatItWasBoundToLast() {
        HoldfastMetrics metrics = new HoldfastMetrics(registry);
        metrics.connect(Holdfast.builder().store(store).clock(clock)).close();
        try (Holdfast next = metrics.connect(Holdfast.builder().store(store).clock(clock))) {
            assertThat(next.lock("job").tryAcquire()).isPresent();
            assertThat(find("holdfast.held").gauge().value()).isEqualTo(1);
        }
    }

    @Test
    void twoClientsOfOneStoreHaveTagsOfTheirOwn() {
        HoldfastMetrics metrics = new HoldfastMetrics(registry);
        try (Holdfast orders = metrics.withTags(Tags.of("client", "orders"))
                        .connect(Holdfast.builder().store(store).clock(clock));
                Holdfast jobs = metrics.withTags(Tags.of("client", "jobs"))
                        .connect(Holdfast.builder().store(store).clock(clock))) {
            assertThat(jobs.lock("job").tryAcquire()).isPresent();
            assertThat(find("holdfast.held", "client", "orders").gauge().value())
                    .isZero();
            assertThat(find("holdfast.held", "client", "jobs").gauge().value()).isEqualTo(1);
            assertThat(find("holdfast.acquire", "client", "jobs").timer().count())
                    .isEqualTo(1);
            assertThat(orders.heldCount()).isZero();
        }
    }
}
