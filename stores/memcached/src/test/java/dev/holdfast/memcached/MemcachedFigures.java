package dev.holdfast.memcached;

import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcacheStatus;
import com.spotify.folsom.client.DefaultRawMemcacheClient;
import com.spotify.folsom.client.NoopMetrics;
import com.spotify.folsom.client.NoopTracer;
import com.spotify.folsom.client.ascii.DefaultAsciiMemcacheClient;
import com.spotify.folsom.guava.HostAndPort;
import com.spotify.folsom.transcoder.ByteArrayTranscoder;
import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.MemcachedServer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/**
 * What a pair of acquire and release costs beside bare commands on the same client library, in short blocks that take
 * turns. A program, not a test: it measures time. The CPU time of all Java threads and of the server is measured, too,
 * because other work on the machine hardly changes it.
 */
final class MemcachedFigures {

    private static final int BLOCKS = 300;
    private static final int WARM_UP_BLOCKS = 300;
    private static final int PAIRS = 100;
    private static final long NOBODYS_NUMBER = Long.MAX_VALUE;
    private static final Duration LEASE = Duration.ofSeconds(30);

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private MemcachedFigures() {}

    public static void main(String[] arguments) {
        EventLoopGroup thread = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        try (MemcachedServer server = MemcachedServer.start();
                LockStore store = new MemcachedLockStoreProvider().open(server.url(), MonotonicClock.SYSTEM);
                Holdfast locks = Holdfast.connect(server.url())) {
            MemcacheClient<byte[]> bare = bare(server, thread);
            Claimant claimant = new Claimant("figures", LEASE);
            LockName name = new LockName("store");
            DistributedLock lock = locks.lock("lock");
            Map<String, Runnable> subjects = new LinkedHashMap<>();
            subjects.put("bare add, cas", () -> addAndCas(bare));
            subjects.put("bare add and gets, cas", () -> addGetsAndCas(bare));
            subjects.put("store", () -> {
                Claim claim = claimant.mutex(name);
                StoreTest.get(store.tryAcquire(claim));
                StoreTest.get(store.release(claim));
            });
            subjects.put("lock", () -> {
                lock.lock();
                lock.unlock();
            });
            run(subjects, server);
            bare.shutdown();
        } finally {
            thread.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    /** What the blocks of one subject have cost, in microseconds for each pair. */
    private static final class Cost {

        private final List<Double> times = new ArrayList<>();
        private double client;
        private double server;

        private double cpu() {
            return (client + server) / BLOCKS;
        }
    }

    private static void run(Map<String, Runnable> subjects, MemcachedServer server) {
        Map<String, Cost> costs = new LinkedHashMap<>();
        subjects.keySet().forEach(who -> costs.put(who, new Cost()));
        for (int block = 0; block < WARM_UP_BLOCKS; block++) {
            subjects.forEach((who, pair) -> measure(pair, server, new Cost()));
        }
        for (int block = 0; block < BLOCKS; block++) {
            subjects.forEach((who, pair) -> measure(pair, server, costs.get(who)));
        }
        Cost bare = costs.values().iterator().next();
        costs.forEach((who, cost) -> System.out.printf(
                Locale.ROOT,
                "%-24s median %6.1f us, %.2f   quartile %6.1f us, %.2f   CPU %5.1f + %5.1f us, %.2f%n",
                who,
                at(0.5, cost.times),
                at(0.5, cost.times) / at(0.5, bare.times),
                at(0.25, cost.times),
                at(0.25, cost.times) / at(0.25, bare.times),
                cost.client / BLOCKS,
                cost.server / BLOCKS,
                cost.cpu() / bare.cpu()));
    }

    private static void measure(Runnable pair, MemcachedServer server, Cost cost) {
        double serverBefore = serverMicros(server);
        double clientBefore = clientMicros();
        for (int i = 0; i < PAIRS; i++) {
            long start = System.nanoTime();
            pair.run();
            cost.times.add((System.nanoTime() - start) / 1_000.0);
        }
        cost.client += (clientMicros() - clientBefore) / PAIRS;
        cost.server += (serverMicros(server) - serverBefore) / PAIRS;
    }

    // Of the threads that Java code runs on: neither the compiler's nor the garbage collector's.
    private static double clientMicros() {
        long nanos = 0;
        for (long id : THREADS.getAllThreadIds()) {
            nanos += Math.max(0, THREADS.getThreadCpuTime(id));
        }
        return nanos / 1_000.0;
    }

    private static double serverMicros(MemcachedServer server) {
        return server.ask("stats", "END")
                .lines()
                .filter(line -> line.startsWith("STAT rusage_"))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)) * 1_000_000)
                .sum();
    }

    private static double at(double part, List<Double> all) {
        return all.stream().sorted().toList().get((int) (all.size() * part));
    }

    // The number of the value is not known without a reading, so the cas is refused: it costs the same.
    private static void addAndCas(MemcacheClient<byte[]> bare) {
        String key = UUID.randomUUID().toString();
        byte[] value = key.getBytes(StandardCharsets.US_ASCII);
        expect(bare.add(key, value, 30), MemcacheStatus.OK);
        expect(bare.set(key, value, 30, NOBODYS_NUMBER), MemcacheStatus.KEY_EXISTS);
    }

    private static void addGetsAndCas(MemcacheClient<byte[]> bare) {
        String key = "bare";
        byte[] value = key.getBytes(StandardCharsets.US_ASCII);
        CompletionStage<MemcacheStatus> added = bare.add(key, value, 30);
        long number = bare.casGet(key).toCompletableFuture().join().getCas();
        expect(added, MemcacheStatus.OK);
        expect(bare.delete(key, number), MemcacheStatus.OK);
    }

    private static void expect(CompletionStage<MemcacheStatus> status, MemcacheStatus expected) {
        MemcacheStatus answer = status.toCompletableFuture().join();
        if (answer != expected) {
            throw new IllegalStateException(answer + " instead of " + expected);
        }
    }

    private static MemcacheClient<byte[]> bare(MemcachedServer server, EventLoopGroup thread) {
        return new DefaultAsciiMemcacheClient<>(
                DefaultRawMemcacheClient.connect(
                                HostAndPort.fromParts("127.0.0.1", server.port()),
                                1_000,
                                64,
                                false,
                                null,
                                10_000,
                                StandardCharsets.UTF_8,
                                NoopMetrics.INSTANCE,
                                1 << 20,
                                thread,
                                NioSocketChannel.class,
                                null)
                        .toCompletableFuture()
                        .join(),
                NoopMetrics.INSTANCE,
                NoopTracer.INSTANCE,
                ByteArrayTranscoder.INSTANCE,
                StandardCharsets.UTF_8,
                250);
    }
}
