package dev.holdfast.redis;

import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.config.Layout;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.redis.jedis.JedisPorts;
import dev.holdfast.redis.plain.PlainRedisLockStore;
import dev.holdfast.redis.record.RecordLockStore;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import java.util.concurrent.CompletionException;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;

/**
 * Makes stores in Redis over a client that the program has already. {@link RedisLockStoreProvider} makes them by URL. What
 * they guarantee is said in the {@linkplain dev.holdfast.redis description of the package}.
 */
public final class RedisLockStore {

    private RedisLockStore() {}

    /** A store over a client of the user's, with the default options. See {@link #over(RedisClient, String)}. */
    public static LockStore over(RedisClient client) {
        return over(client, "");
    }

    /**
     * A store over a client of the user's, which is never closed by the store. The store works with connections of the
     * client's pool: it keeps one for renewals and one for its subscription, so the pool must have at least three, and gives
     * back all when it is closed. How long a connection and a reply are waited for is the client's own business; give it
     * time-outs.
     *
     * @param options as behind the question mark of a URL: {@code ticketTtl=3s&prefix=app:}; {@code timeout} limits the wait
     *     for a connection of the pool, {@code connections} is ignored
     * @throws IllegalArgumentException if an option is wrong, or the pool too small
     */
    public static LockStore over(RedisClient client, String options) {
        RedisOptions parsed = RedisOptions.parse(options);
        return opened(JedisPorts.over(client, parsed, MonotonicClock.SYSTEM), parsed, MonotonicClock.SYSTEM);
    }

    /**
     * A store over a client of the user's that asks Sentinels for the primary. As {@link #over(RedisClient, String)}; the
     * client follows a fail-over.
     *
     * @throws IllegalArgumentException if an option is wrong, or the pool too small
     */
    public static LockStore over(RedisSentinelClient client, String options) {
        RedisOptions parsed = RedisOptions.parse(options);
        return opened(JedisPorts.over(client, parsed, MonotonicClock.SYSTEM), parsed, MonotonicClock.SYSTEM);
    }

    /**
     * A store over a client of the user's for a cluster. As {@link #over(RedisClient, String)}; the pool is that of each node.
     *
     * @throws IllegalArgumentException if an option is wrong, or the pools too small
     */
    public static LockStore over(RedisClusterClient client, String options) {
        RedisOptions parsed = RedisOptions.parse(options).withCluster();
        return opened(JedisPorts.over(client, parsed, MonotonicClock.SYSTEM), parsed, MonotonicClock.SYSTEM);
    }

    /**
     * A store over any client library. The store closes the port.
     *
     * @param options as behind the question mark of a URL; those about connections are the port's business
     * @throws IllegalArgumentException if an option is wrong
     * @throws StoreException if the server cannot be reached
     */
    public static LockStore over(RedisPort port, String options, MonotonicClock clock) {
        return opened(port, RedisOptions.parse(options), clock);
    }

    static LockStore opened(RedisPort port, RedisOptions options, MonotonicClock clock) {
        LockStore store = options.layout() == Layout.RECORD
                ? new RecordLockStore(port, options, clock)
                : new PlainRedisLockStore(port, options, clock);
        boolean ready = false;
        try {
            // Shows that the server is there and lets us in.
            store.inspect(new LockName("holdfast")).toCompletableFuture().join();
            if (store instanceof PlainRedisLockStore plain) {
                plain.findCommands();
            }
            ready = true;
            return store;
        } catch (CompletionException failure) {
            throw StoreException.of(failure);
        } finally {
            if (!ready) {
                store.close();
            }
        }
    }
}
