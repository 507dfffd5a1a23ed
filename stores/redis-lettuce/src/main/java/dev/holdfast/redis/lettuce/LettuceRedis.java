package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.RedisLockStore;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import org.jspecify.annotations.Nullable;

/**
 * Stores in Redis over a client of Lettuce. The same records, scripts and guarantees as with {@link RedisLockStore}; both
 * kinds of clients exclude each other.
 *
 * <p>A store opens three connections of its own over the client: for work, for renewals, and for its channels; on a cluster,
 * to each node. It never closes the client. Calls do not block, and answers are told on Lettuce's threads. Methods are
 * thread-safe.
 *
 * <p>On a cluster the client must be allowed to find out what has changed: leave the adaptive refresh of its topology on.
 * Nodes must be Redis 7 or newer there.
 */
public final class LettuceRedis {

    /** Connecting, asking who serves a slot, the call, the call with its text, and one that was elsewhere. */
    private static final int WAITS = 12;

    private LettuceRedis() {}

    /**
     * A store over a client of the user's for one server, or for the primary that Sentinels name.
     *
     * @param uri where to
     * @param options as behind the question mark of a URL: {@code ticketTtl=3s&prefix=app:}; {@code timeout} limits the wait
     *     for each reply
     * @throws IllegalArgumentException if an option is wrong
     * @throws dev.holdfast.spi.StoreException if the server cannot be reached
     */
    public static LockStore over(RedisClient client, RedisURI uri, String options) {
        return over(client, uri, options, uri.toString(), MonotonicClock.SYSTEM, null);
    }

    static LockStore over(
            RedisClient client,
            RedisURI uri,
            String options,
            String place,
            MonotonicClock clock,
            @Nullable Runnable endOfClient) {
        RedisOptions parsed = RedisOptions.parse(options);
        if (parsed.cluster()) {
            throw new IllegalArgumentException("Option cluster: give a RedisClusterClient for a cluster");
        }
        LettucePort port = new LettucePort(
                new ServerLinks(client, uri, parsed.timeout()), place, parsed.callTimeout(WAITS), endOfClient);
        return RedisLockStore.over(port, options, clock);
    }

    /**
     * A store over a client of the user's for a cluster.
     *
     * @param options as for {@link #over(RedisClient, RedisURI, String)}
     * @throws IllegalArgumentException if an option is wrong
     * @throws dev.holdfast.spi.StoreException if the cluster cannot be reached
     */
    public static LockStore over(RedisClusterClient client, String options) {
        return over(client, options, "the cluster of a Lettuce client", MonotonicClock.SYSTEM, null);
    }

    static LockStore over(
            RedisClusterClient client,
            String options,
            String place,
            MonotonicClock clock,
            @Nullable Runnable endOfClient) {
        RedisOptions parsed = RedisOptions.parse(options);
        LettucePort port = new LettucePort(
                new ClusterLinks(client, parsed.timeout()), place, parsed.callTimeout(WAITS), endOfClient);
        try {
            // Asks the nodes who serves what, unless that was done.
            client.getPartitions();
        } catch (RedisException unreachable) {
            port.close();
            throw port.unreachable(unreachable);
        }
        return RedisLockStore.over(port, options, clock);
    }
}
