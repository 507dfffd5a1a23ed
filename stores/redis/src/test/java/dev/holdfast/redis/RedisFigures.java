package dev.holdfast.redis;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.WakeListener;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.SetParams;

/**
 * Prints what the store costs, on a server of its own; no test. {@code pair}: acquire and release of a free lock,
 * beside a bare {@code SET NX PX} and a compare-and-delete script on Jedis. {@code threads N}: the same by N
 * threads on N locks. {@code renew N}: one batch of N. {@code wake N}: from the release call of one client to the
 * grant in another. The options of the store are those of the system property {@code figures.options}, such as
 * {@code ?layout=plain}.
 */
final class RedisFigures {

    private static final Claimant ME = new Claimant("me", Duration.ofSeconds(30));
    private static final int ROUNDS = 5;

    private RedisFigures() {}

    public static void main(String[] arguments) throws InterruptedException {
        try (RedisServer server = RedisServer.start();
                LockStore store = new RedisLockStoreProvider()
                        .open(server.url() + System.getProperty("figures.options", ""), MonotonicClock.SYSTEM)) {
            int number = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 0;
            switch (arguments[0]) {
                case "pair" -> pair(server, store);
                case "threads" -> threads(server, store, number);
                case "renew" -> renew(store, number);
                case "wake" -> wake(server, store, number);
                default -> throw new IllegalArgumentException(arguments[0]);
            }
        }
    }

    private static void pair(RedisServer server, LockStore store) {
        try (Jedis jedis = server.connect()) {
            Runnable bare = bare(jedis, "figures-bare");
            Runnable ours = ours(store, new LockName("figures"));
            double[] ratios = new double[ROUNDS];
            for (int round = -2; round < ROUNDS; round++) {
                double bareMicros = measured("bare Jedis", bare);
                double oursMicros = measured("holdfast", ours);
                if (round >= 0) {
                    ratios[round] = oursMicros / bareMicros;
                }
            }
            Arrays.sort(ratios);
            System.out.printf("ratio of the medians, median of %d rounds: %.3f%n", ROUNDS, ratios[ROUNDS / 2]);
        }
    }

    private static Runnable bare(Jedis jedis, String key) {
        String sha = jedis.scriptLoad(
                "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end");
        SetParams free = new SetParams().nx().px(30_000);
        long[] sequence = {0};
        return () -> {
            String value = "client-" + sequence[0]++;
            if (jedis.set(key, value, free) == null || !Long.valueOf(1).equals(jedis.evalsha(sha, 1, key, value))) {
                throw new IllegalStateException("somebody else uses " + key);
            }
        };
    }

    private static Runnable ours(LockStore store, LockName name) {
        return () -> {
            Claim claim = ME.mutex(name);
            if (!(store.tryAcquire(claim).toCompletableFuture().join() instanceof Granted)
                    || !store.release(claim).toCompletableFuture().join().wasOwner()) {
                throw new IllegalStateException("somebody else uses " + name);
            }
        };
    }

    private static double measured(String what, Runnable pair) {
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long[] nanos = new long[10_000];
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < nanos.length; i++) {
            long start = System.nanoTime();
            pair.run();
            nanos[i] = System.nanoTime() - start;
        }
        long bytes = threads.getCurrentThreadAllocatedBytes() - before;
        print(what + " (" + bytes / nanos.length + " bytes a pair)", nanos);
        return nanos[nanos.length / 2] / 1e3;
    }

    private static void threads(RedisServer server, LockStore store, int count) throws InterruptedException {
        for (int round = 0; round < 3; round++) {
            List<Jedis> connections = new ArrayList<>();
            List<Runnable> bare = new ArrayList<>();
            List<Runnable> ours = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                connections.add(server.connect());
                bare.add(bare(connections.get(i), "figures-bare-" + i));
                ours.add(ours(store, new LockName("figures-" + i)));
            }
            double floor = together(bare);
            double rate = together(ours);
            System.out.printf(
                    "%d threads: bare Jedis, a connection each %.0f pairs/s, holdfast %.0f pairs/s, %.2f of it%n",
                    count, floor, rate, rate / floor);
            connections.forEach(Jedis::close);
        }
    }

    private static double together(List<Runnable> pairs) throws InterruptedException {
        int times = 4_000;
        CountDownLatch done = new CountDownLatch(pairs.size());
        long start = System.nanoTime();
        for (Runnable pair : pairs) {
            new Thread(() -> {
                        for (int i = 0; i < times; i++) {
                            pair.run();
                        }
                        done.countDown();
                    })
                    .start();
        }
        done.await();
        return pairs.size() * times * 1e9 / (System.nanoTime() - start);
    }

    private static void renew(LockStore store, int count) {
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Claim claim = ME.mutex(new LockName("figures-" + i));
            store.tryAcquire(claim).toCompletableFuture().join();
            claims.add(claim);
        }
        for (int round = 0; round < 3; round++) {
            long[] nanos = new long[20];
            for (int i = 0; i < nanos.length; i++) {
                long start = System.nanoTime();
                List<Renewed> answers =
                        store.renew(claims).toCompletableFuture().join();
                nanos[i] = System.nanoTime() - start;
                if (!answers.stream().allMatch(Granted.class::isInstance)) {
                    throw new IllegalStateException("not renewed");
                }
            }
            print("renewal of " + count, nanos);
        }
    }

    // Both stores are in one process, because the round trip over the server is measured, not the start of a
    // process.
    private static void wake(RedisServer server, LockStore store, int times) {
        LockName name = new LockName("figures");
        try (LockStore other = new RedisLockStoreProvider().open(server.url(), MonotonicClock.SYSTEM)) {
            for (int round = 0; round < 3; round++) {
                long[] nanos = new long[times];
                for (int i = 0; i < times; i++) {
                    Claim holder = ME.mutex(name);
                    store.tryAcquire(holder).toCompletableFuture().join();
                    Claim waiter = ME.mutex(name);
                    WakeListener listener = new WakeListener();
                    other.enqueue(waiter, listener);
                    LockSupport.parkNanos(1_000_000);
                    long start = System.nanoTime();
                    store.release(holder).toCompletableFuture().join();
                    nanos[i] = listener.awaitGrant() - start;
                    other.release(waiter).toCompletableFuture().join();
                }
                print("from release to grant elsewhere", nanos);
            }
        }
    }

    private static void print(String what, long[] nanos) {
        Arrays.sort(nanos);
        System.out.printf(
                "%s: mean %.1f, p50 %.1f, p99 %.1f us%n",
                what,
                Arrays.stream(nanos).average().orElse(0) / 1e3,
                nanos[nanos.length / 2] / 1e3,
                nanos[nanos.length * 99 / 100] / 1e3);
    }
}
