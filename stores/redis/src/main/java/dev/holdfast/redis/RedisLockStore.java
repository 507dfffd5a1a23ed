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
 * Makes stores in Redis over a client that the program already has. {@link RedisLockStoreProvider} makes stores
 * from a URL. The {@linkplain dev.holdfast.redis description of the package} lists the guarantees.
 */
public final class RedisLockStore {

    private RedisLockStore() {}

    /** A store over the user's client, with the default options. See {@link #over(RedisClient, String)}. */
    public static LockStore over(RedisClient client) {
        return over(client, "");
    }

    /**
     * A store over the user's client. The store never closes the client. It works with connections of the client's
     * pool: it keeps one for renewals and one for its subscription, so the pool must have at least three. It
     * returns all of them when it is closed. The client's own settings limit how long it waits for a connection and
     * for a reply; set time-outs there.
     *
     * @param options written as after the question mark of a URL: {@code ticketTtl=3s&prefix=app:}; {@code timeout}
     *     limits the wait for a connection of the pool, {@code connections} is ignored
     * @throws IllegalArgumentException if an option is wrong, or the pool too small
     */
    public static LockStore over(RedisClient client, String options) {
        RedisOptions parsed = RedisOptions.parse(options);
        return opened(JedisPorts.over(client, parsed, MonotonicClock.SYSTEM), parsed, MonotonicClock.SYSTEM);
    }

    /**
     * A store over the user's client that asks Sentinels for the primary. Works like
     * {@link #over(RedisClient, String)}; the client follows a fail-over.
     *
     * @throws IllegalArgumentException if an option is wrong, or the pool too small
     */
    public static LockStore over(RedisSentinelClient client, String options) {
        RedisOptions parsed = RedisOptions.parse(options);
        return opened(JedisPorts.over(client, parsed, MonotonicClock.SYSTEM), parsed, MonotonicClock.SYSTEM);
    }

    /**
     * A store over the user's client for a cluster. Works like {@link #over(RedisClient, String)}; its requirement
     * for the pool applies to the pool of each node.
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
     * @param options written as after the question mark of a URL; the port handles those about connections
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
            // Checks that the server is reachable and accepts the credentials.
            if (store instanceof PlainRedisLockStore plain) {
                plain.check();
            } else {
                store.inspect(new LockName("holdfast")).toCompletableFuture().join();
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
