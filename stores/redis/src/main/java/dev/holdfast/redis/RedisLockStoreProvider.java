package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;

/**
 * Opens {@code redis://[user[:password]@]host[:port][/db][?option=value]}, and {@code rediss://} over TLS. User, password
 * and values may be percent-encoded; without a user, {@code redis://:password@host} is for the default one. The port is 6379
 * unless said, the database 0. TLS trusts what the JVM trusts, and checks the host's name.
 *
 * <p>Options stand behind a question mark, as in {@code redis://db.example/2?ticketTtl=3s&connections=32}. Times look like
 * {@code 500ms}, {@code 5s}, {@code 10m}, {@code 24h}, {@code 30d} or {@code PT5S}.
 *
 * <table>
 * <caption>Options</caption>
 * <tr><th>name</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@code ticketTtl}</td><td>5s</td><td>how long a waiter keeps its place without a refresh, and a grant that it was
 *     handed without a renewal</td></tr>
 * <tr><td>{@code keep}</td><td>1d</td><td>how long the record of an idle lock is kept; at least ten times the ticketTtl</td></tr>
 * <tr><td>{@code timeout}</td><td>2s</td><td>how long a connection, and each reply, may be waited for; at most 8s</td></tr>
 * <tr><td>{@code connections}</td><td>16</td><td>how many calls may be under way at once; renewals and the subscription have
 *     a connection each besides</td></tr>
 * <tr><td>{@code prefix}</td><td>holdfast:</td><td>what all keys and channels begin with; the same in all clients that are to
 *     exclude each other</td></tr>
 * </table>
 *
 * An option that is not in this table is refused.
 */
public final class RedisLockStoreProvider implements LockStoreProvider {

    @Override
    public String form() {
        return RedisUrl.FORM;
    }

    @Override
    public boolean accepts(String url) {
        return url.startsWith("redis://") || url.startsWith("rediss://");
    }

    @Override
    public LockStore open(String url, MonotonicClock clock) {
        RedisUrl parsed = RedisUrl.parse(url);
        return RedisLockStore.opened(
                new JedisPort(new OwnConnections(parsed, clock), parsed.options(), clock), parsed.options(), clock);
    }
}
