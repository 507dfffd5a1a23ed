package dev.holdfast.redis;

import dev.holdfast.redis.client.ClientLibrary;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.redis.jedis.JedisPorts;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import java.util.stream.Stream;

/**
 * Opens stores by URL:
 *
 * <ul>
 *   <li>{@code redis://[user[:password]@]host[:port][/db][?option=value]}: one server. The default port is 6379,
 *       the default database 0.
 *   <li>{@code redis-sentinel://[user[:password]@]host[:port],.../primary-name[/db]}: the primary that these
 *       Sentinels name. Their default port is 26379.
 *   <li>{@code redis://host[:port],host[:port],...}, or one host and {@code ?cluster=true}: a cluster; the hosts
 *       are some of its nodes.
 *   <li>{@code rediss://} and {@code rediss-sentinel://}: the same over TLS. It trusts what the JVM trusts, and
 *       checks the host's name.
 *   <li>{@code tair://} and {@code tairs://}: a Tair server, in the form of {@code redis://}.
 * </ul>
 *
 * <p>User, password and values may be percent-encoded; without a user, {@code redis://:password@host} is for the
 * default user. Options follow a question mark, as in {@code redis://db.example/2?ticketTtl=3s&connections=32}.
 * Times look like {@code 500ms}, {@code 5s}, {@code 10m}, {@code 24h}, {@code 30d} or {@code PT5S}.
 *
 * <table>
 * <caption>Options</caption>
 * <tr><th>name</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@code ticketTtl}</td><td>5s</td><td>how long a waiter keeps its position without a refresh, and a grant
 *     that a release gave it without a renewal</td></tr>
 * <tr><td>{@code keep}</td><td>1h</td><td>how long the record of an idle lock is kept; at least ten times the
 *     ticketTtl</td></tr>
 * <tr><td>{@code timeout}</td><td>2s</td><td>how long a connection, and each reply, may be waited for; at most 8s,
 *     and 2s with Sentinels, a cluster or replicas</td></tr>
 * <tr><td>{@code connections}</td><td>16</td><td>how many calls may be under way at once; renewals and the
 *     subscription have one connection each in addition</td></tr>
 * <tr><td>{@code prefix}</td><td>holdfast:; none with layout=redisson and timestamps</td><td>what all keys and channels begin with; it
 *     must be the same in all clients that are to exclude each other. With a layout other than record, what the keys of
 *     the locks begin with; it may be empty</td></tr>
 * <tr><td>{@code cluster}</td><td>false</td><td>whether the host is a node of a cluster</td></tr>
 * <tr><td>{@code replicas}</td><td>0</td><td>how many replicas must have acknowledged a grant before it
 *     counts</td></tr>
 * <tr><td>{@code replicaTimeout}</td><td>500ms</td><td>how long the replicas may take; at most the
 *     timeout</td></tr>
 * <tr><td>{@code sentinelUser}, {@code sentinelPassword}</td><td>none</td><td>the credentials that the Sentinels
 *     ask for</td></tr>
 * <tr><td>{@code layout}</td><td>record; tair for tair URLs</td><td>how locks are stored: all as records with a
 *     queue ({@code record}); exclusive ones as the strings of {@code SET NX PX}, no others ({@code plain});
 *     exclusive ones as strings, others as records, no queue ({@code mixed}; {@code tair} is the same but prefers
 *     Tair's commands); exclusive ones as the hashes of Redisson's {@code RLock}, no others
 *     ({@code redisson}); exclusive ones as the time stamps of {@code SETNX} and {@code GETSET}, no others
 *     ({@code timestamps})</td></tr>
 * <tr><td>{@code stamp}</td><td>millis</td><td>the form of these time stamps: {@code millis}, {@code seconds},
 *     {@code millis-owner} or {@code seconds-owner}</td></tr>
 * </table>
 *
 * An option that is not in this table is refused.
 */
public final class RedisLockStoreProvider implements LockStoreProvider {

    private static final ClientLibrary JEDIS = new ClientLibrary(
            "redis.clients",
            "jedis",
            "7.2",
            "redis.clients.jedis.RedisClient",
            "set its version in the build (with Spring Boot, by the property jedis.version), or use"
                    + " dev.holdfast:holdfast-redis-lettuce and a URL that begins with redis+lettuce:");

    @Override
    public String form() {
        return RedisUrl.FORM + " or " + RedisUrl.SENTINEL_FORM;
    }

    @Override
    public boolean accepts(String url) {
        return isTair(url)
                || Stream.of("redis://", "rediss://", "redis-sentinel://", "rediss-sentinel://")
                        .anyMatch(url::startsWith);
    }

    @Override
    public LockStore open(String url, MonotonicClock clock) {
        JEDIS.require();
        RedisUrl parsed = RedisUrl.parse(isTair(url) ? asRedis(url) : url);
        return RedisLockStore.opened(JedisPorts.open(parsed, clock), parsed.options(), clock);
    }

    private static boolean isTair(String url) {
        return url.startsWith("tair://") || url.startsWith("tairs://");
    }

    // tair://REST is redis://REST with another default for the option layout.
    private static String asRedis(String url) {
        String redis = "redis" + url.substring("tair".length());
        int query = redis.indexOf('?');
        if (query >= 0 && redis.substring(query).matches(".*[?&]layout=.*")) {
            return redis;
        }
        return redis + (query < 0 ? "?" : query == redis.length() - 1 ? "" : "&") + "layout=tair";
    }
}
