package dev.holdfast.memcached;

import dev.holdfast.memcached.config.MemcachedUrl;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.TimeLimit;

/**
 * Opens {@code memcached://[user:password@]host[:port][?option=value]}, and {@code memcacheds://} over TLS. User,
 * password and values may be percent-encoded. The default port is 11211.
 *
 * <p>Options follow a question mark, as in {@code memcached://a.example?timeout=1s&prefix=shop}. Times look like {@code
 * 500ms}, {@code 5s} or {@code PT5S}.
 *
 * <table>
 * <caption>Options</caption>
 * <tr><th>name</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@code timeout}</td><td>2s</td><td>the longest time for one operation on one name; at most 8s</td></tr>
 * <tr><td>{@code prefix}</td><td>holdfast</td><td>the text that all keys begin with; the same in all clients that
 *     should exclude each other</td></tr>
 * <tr><td>{@code login}</td><td>text</td><td>how user and password are sent: {@code text} to a server with {@code -Y},
 *     {@code sasl} to one with {@code -S}, in the binary protocol</td></tr>
 * <tr><td>{@code ca}</td><td></td><td>a PEM file with the certificates that the server is trusted by, instead of what
 *     the JVM trusts</td></tr>
 * <tr><td>{@code cert}, {@code key}</td><td></td><td>PEM files with this client's certificate and its key
 *     (PKCS #8)</td></tr>
 * </table>
 *
 * An option that is not in this table is refused.
 */
public final class MemcachedLockStoreProvider implements LockStoreProvider {

    @Override
    public String form() {
        return MemcachedUrl.FORM;
    }

    @Override
    public boolean accepts(String url) {
        return url.startsWith("memcached://") || url.startsWith("memcacheds://");
    }

    @Override
    public LockStore open(String url, MonotonicClock clock) {
        return MemcachedLockStore.opened(MemcachedUrl.parse(url), clock, TimeLimit::new);
    }
}
