package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.Claimant;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.Arrays;

/**
 * Prints what acquire and release of a free lock cost through Lettuce, beside a bare {@code SET NX PX} and a
 * compare-and-delete script on Lettuce; on a server of its own. No test.
 */
final class LettuceFigures {

    private static final Claimant ME = new Claimant("me", Duration.ofSeconds(30));
    private static final int ROUNDS = 5;
    private static final int PAIRS = 10_000;

    private LettuceFigures() {}

    public static void main(String[] arguments) {
        RedisClient client = RedisClient.create();
        try (RedisServer server = RedisServer.start();
                StatefulRedisConnection<String, String> connection =
                        client.connect(RedisURI.create("127.0.0.1", server.port()));
                LockStore store =
                        new LettuceLockStoreProvider().open(LettuceUrl.of(server.url()), MonotonicClock.SYSTEM)) {
            Runnable bare = bare(connection.sync());
            Runnable ours = ours(store, new LockName("figures"));
            double[] ratios = new double[ROUNDS];
            for (int round = -2; round < ROUNDS; round++) {
                double bareMicros = median("bare Lettuce", bare);
                double oursMicros = median("holdfast", ours);
                if (round >= 0) {
                    ratios[round] = oursMicros / bareMicros;
                }
            }
            Arrays.sort(ratios);
            System.out.printf("ratio of the medians, median of %d rounds: %.3f%n", ROUNDS, ratios[ROUNDS / 2]);
        } finally {
            client.shutdown();
        }
    }

    private static Runnable bare(RedisCommands<String, String> redis) {
        String sha = redis.scriptLoad(
                "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end");
        SetArgs free = SetArgs.Builder.nx().px(30_000);
        String[] keys = {"figures-bare"};
        long[] sequence = {0};
        return () -> {
            String value = "client-" + sequence[0]++;
            Long one = 1L;
            if (redis.set(keys[0], value, free) == null
                    || !one.equals(redis.<Long>evalsha(sha, ScriptOutputType.INTEGER, keys, value))) {
                throw new IllegalStateException("somebody else uses " + keys[0]);
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

    private static double median(String what, Runnable pair) {
        long[] nanos = new long[PAIRS];
        for (int i = 0; i < PAIRS; i++) {
            long start = System.nanoTime();
            pair.run();
            nanos[i] = System.nanoTime() - start;
        }
        Arrays.sort(nanos);
        System.out.printf("%s: p50 %.1f, p99 %.1f us%n", what, nanos[PAIRS / 2] / 1e3, nanos[PAIRS * 99 / 100] / 1e3);
        return nanos[PAIRS / 2] / 1e3;
    }
}
