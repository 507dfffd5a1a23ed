package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.ServerAddress;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/** Makes the port for each topology, on connections of our own or of the user's client. */
public final class JedisPorts {

    private JedisPorts() {}

    /** A port on connections of its own. */
    public static RedisPort open(RedisUrl url, MonotonicClock clock) {
        RedisOptions options = url.options();
        if (url.primaryName() != null) {
            SentinelResolver resolver = new SentinelResolver(url, clock);
            ConnectionSource source =
                    new OwnConnections(resolver, url.toString(), OwnConnections.config(url), options, clock);
            return new JedisPort(source, options, JedisPort.WAITS_WITH_SENTINELS, clock);
        }
        if (options.cluster()) {
            return new JedisClusterPort(
                    url.hosts(),
                    node -> new OwnConnections(() -> node, node.toString(), OwnConnections.config(url), options, clock),
                    url.toString(),
                    options,
                    clock);
        }
        return new JedisPort(OwnConnections.toServer(url, clock), options, JedisPort.WAITS, clock);
    }

    public static RedisPort over(RedisClient client, RedisOptions options, MonotonicClock clock) {
        refuseTopology(options);
        return overPool(() -> ours(client.getPool()), pool -> true, JedisPort.WAITS, options, clock);
    }

    public static RedisPort over(RedisSentinelClient client, RedisOptions options, MonotonicClock clock) {
        refuseTopology(options);
        return overPool(
                () -> primaryPool(client),
                pool -> NewCalls.primaryPools(client).containsValue(pool),
                JedisPort.WAITS_WITH_SENTINELS,
                options,
                clock);
    }

    private static RedisPort overPool(
            Supplier<ConnectionPool> pools,
            Predicate<ConnectionPool> isCurrent,
            int waits,
            RedisOptions options,
            MonotonicClock clock) {
        BorrowedConnections.checkSize(pools.get());
        ConnectionSource source = new BorrowedConnections(pools, isCurrent, options, clock);
        return new JedisPort(source, options, waits, clock);
    }

    public static RedisPort over(RedisClusterClient client, RedisOptions options, MonotonicClock clock) {
        options.checkTopology(false);
        Map<String, ConnectionPool> nodes = client.getClusterNodes();
        nodes.values().forEach(BorrowedConnections::checkSize);
        // The client may know a node by its port alone.
        List<ServerAddress> seeds = nodes.keySet().stream()
                .filter(node -> !node.startsWith(":") && !node.startsWith("?"))
                .map(JedisPorts::address)
                .toList();
        return new JedisClusterPort(
                seeds,
                node -> new BorrowedConnections(
                        () -> nodePool(client, node),
                        pool -> client.getClusterNodes().containsValue(pool),
                        options,
                        clock),
                "the cluster of a Jedis client",
                options,
                clock);
    }

    private static void refuseTopology(RedisOptions options) {
        options.checkTopology(false);
        if (options.cluster()) {
            throw new IllegalArgumentException("Option cluster: give a RedisClusterClient for a cluster");
        }
    }

    private static ConnectionPool primaryPool(RedisSentinelClient client) {
        for (Pool<Connection> pool : NewCalls.primaryPools(client).values()) {
            return ours(pool);
        }
        throw StoreException.unavailable(Effect.NONE, "The client knows no primary at the moment", null);
    }

    private static ConnectionPool nodePool(RedisClusterClient client, ServerAddress node) {
        String key = new HostAndPort(node.host(), node.port()).toString();
        ConnectionPool pool = client.getClusterNodes().get(key);
        if (pool == null) {
            try {
                NewCalls.refreshTopology(client);
            } catch (JedisException unreachable) {
                throw StoreException.unavailable(
                        Effect.NONE,
                        "The client cannot find the nodes of its cluster (" + OwnConnections.innermost(unreachable)
                                + ")",
                        unreachable);
            }
            pool = client.getClusterNodes().get(key);
        }
        if (pool == null) {
            throw StoreException.unavailable(Effect.NONE, "The client does not know the node " + node, null);
        }
        return pool;
    }

    private static ServerAddress address(String hostAndPort) {
        HostAndPort address = HostAndPort.from(hostAndPort);
        return new ServerAddress(address.getHost(), address.getPort());
    }

    private static ConnectionPool ours(Pool<Connection> pool) {
        if (pool instanceof ConnectionPool known) {
            return known;
        }
        throw new IllegalArgumentException("The client's pool must be Jedis's own, but is " + pool.getClass());
    }
}
