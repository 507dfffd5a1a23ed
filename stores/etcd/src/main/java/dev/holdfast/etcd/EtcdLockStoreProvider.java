package dev.holdfast.etcd;

import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;

/**
 * Opens {@code etcd://[user:password@]host[:port][,host[:port]...][?option=value]}, and {@code etcds://} over TLS.
 * User, password and values may be percent-encoded. The default port is 2379.
 *
 * <p>Options follow a question mark, as in {@code etcd://a.example,b.example,c.example?session=15s&timeout=1s}.
 * Times look like {@code 500ms}, {@code 5s}, {@code 10m} or {@code PT5S}.
 *
 * <table>
 * <caption>Options</caption>
 * <tr><th>name</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@code session}</td><td>30s</td><td>how long the claims of a dead client live on, and the longest time for
 *     which a grant is valid without a renewal; whole seconds; the servers have a minimum, which is 2s unless
 *     configured otherwise</td></tr>
 * <tr><td>{@code timeout}</td><td>2s</td><td>the longest time to wait for one answer; at most 8s</td></tr>
 * <tr><td>{@code prefix}</td><td>holdfast/</td><td>the text that all keys begin with; the same in all
 *     clients that should exclude each other; {@code etcdctl lock} takes it as part of the name</td></tr>
 * <tr><td>{@code ca}</td><td></td><td>a PEM file with the certificates that servers are trusted by,
 *     instead of what the JVM trusts</td></tr>
 * <tr><td>{@code cert}, {@code key}</td><td></td><td>PEM files with this client's certificate and its
 *     key (PKCS #8)</td></tr>
 * </table>
 *
 * An option that is not in this table is refused.
 */
public final class EtcdLockStoreProvider implements LockStoreProvider {

    @Override
    public String form() {
        return EtcdUrl.FORM;
    }

    @Override
    public boolean accepts(String url) {
        return url.startsWith("etcd://") || url.startsWith("etcds://");
    }

    @Override
    public LockStore open(String url, MonotonicClock clock) {
        EtcdUrl parsed = EtcdUrl.parse(url);
        return EtcdLockStore.opened(EtcdChannels.open(parsed), parsed.options(), clock);
    }
}
