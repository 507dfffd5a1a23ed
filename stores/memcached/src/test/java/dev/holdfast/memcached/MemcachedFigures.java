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
 * What a pair of acquire and release costs beside bare commands on the same client library, in rounds that are
 * interleaved. A program, not a test: it measures time.
 */
final class MemcachedFigures {

    private static final int ROUNDS = 15;
    private static final int WARM_UP_ROUNDS = 6;
    private static final int PAIRS = 3_000;
    private static final long NOBODYS_NUMBER = Long.MAX_VALUE;
    private static final Duration LEASE = Duration.ofSeconds(30);

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
            run(subjects);
            bare.shutdown();
        } finally {
            thread.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    private static void run(Map<String, Runnable> subjects) {
        Map<String, List<Double>> micros = new LinkedHashMap<>();
        for (int round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
            int measured = round - WARM_UP_ROUNDS;
            subjects.forEach((who, pair) -> {
                double each = microsOf(pair);
                if (measured >= 0) {
                    micros.computeIfAbsent(who, unused -> new ArrayList<>()).add(each);
                }
            });
        }
        double first = median(micros.values().iterator().next());
        micros.forEach((who, all) ->
                System.out.printf(Locale.ROOT, "%-24s %7.1f us a pair, %.2f%n", who, median(all), median(all) / first));
    }

    private static double microsOf(Runnable pair) {
        List<Double> all = new ArrayList<>();
        for (int i = 0; i < PAIRS; i++) {
            long start = System.nanoTime();
            pair.run();
            all.add((System.nanoTime() - start) / 1_000.0);
        }
        return median(all);
    }

    private static double median(List<Double> all) {
        return all.stream().sorted().toList().get(all.size() / 2);
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
