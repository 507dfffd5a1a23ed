package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.RedisLockStore;
import dev.holdfast.redis.client.ClientLibrary;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import org.jspecify.annotations.Nullable;

/**
 * Makes stores in Redis over a client of Lettuce. Records, scripts and guarantees are the same as with
 * {@link RedisLockStore}, so locks of both kinds of clients exclude each other.
 *
 * <p>A store opens three connections of its own over the client: for work, for renewals, and for its channels; on a
 * cluster, to each node. It never closes the client. Calls do not block, and results are reported on Lettuce's
 * threads. Methods are thread-safe.
 *
 * <p>On a cluster the client must be able to find out what has changed, so leave the adaptive refresh of its
 * topology on. The nodes must be Redis 7 or newer.
 */
public final class LettuceRedis {

    /**
     * How many time-outs a call may take: connecting, asking which node serves a slot, the call, the call with its
     * text, and a redirected call.
     */
    private static final int WAITS = 12;

    static final ClientLibrary LETTUCE = new ClientLibrary(
            "io.lettuce",
            "lettuce-core",
            "6.8",
            "io.lettuce.core.StreamDeletionPolicy",
            "set its version in the build (with Spring Boot, by the property lettuce.version)");

    private LettuceRedis() {}

    /**
     * A store over the user's client for one server, or for the primary that Sentinels name.
     *
     * @param uri the server, or the Sentinels
     * @param options written as after the question mark of a URL: {@code ticketTtl=3s&prefix=app:}; {@code timeout}
     *     limits the wait for each reply
     * @throws IllegalArgumentException if an option is wrong
     * @throws IllegalStateException if Lettuce is older than 6.8
     * @throws dev.holdfast.spi.StoreException if the server cannot be reached
     */
    public static LockStore over(RedisClient client, RedisURI uri, String options) {
        LETTUCE.require();
        return over(client, uri, options, uri.toString(), MonotonicClock.SYSTEM, null);
    }

    static LockStore over(
            RedisClient client,
            RedisURI uri,
            String options,
            String endpoint,
            MonotonicClock clock,
            @Nullable Runnable endOfClient) {
        RedisOptions parsed = RedisOptions.parse(options);
        if (parsed.cluster()) {
            throw new IllegalArgumentException("Option cluster: give a RedisClusterClient for a cluster");
        }
        LettucePort port = new LettucePort(
                new ServerLinks(client, uri, parsed.timeout()),
                endpoint,
                parsed.timeout(),
                parsed.callTimeout(WAITS),
                clock,
                endOfClient);
        return RedisLockStore.over(port, options, clock);
    }

    /**
     * A store over the user's client for a cluster.
     *
     * @param options as for {@link #over(RedisClient, RedisURI, String)}
     * @throws IllegalArgumentException if an option is wrong
     * @throws IllegalStateException if Lettuce is older than 6.8
     * @throws dev.holdfast.spi.StoreException if the cluster cannot be reached
     */
    public static LockStore over(RedisClusterClient client, String options) {
        LETTUCE.require();
        return over(client, options, "the cluster of a Lettuce client", MonotonicClock.SYSTEM, null);
    }

    static LockStore over(
            RedisClusterClient client,
            String options,
            String endpoint,
            MonotonicClock clock,
            @Nullable Runnable endOfClient) {
        RedisOptions parsed = RedisOptions.parse(options);
        LettucePort port = new LettucePort(
                new ClusterLinks(client, parsed.timeout()),
                endpoint,
                parsed.timeout(),
                parsed.callTimeout(WAITS),
                clock,
                endOfClient);
        try {
            // Asks the nodes which of them serves which slot, unless the client knows.
            Connecting.connectNow(client::getPartitions);
        } catch (RedisException unreachable) {
            port.close();
            throw port.unreachable(unreachable);
        }
        return RedisLockStore.over(port, options, clock);
    }
}
