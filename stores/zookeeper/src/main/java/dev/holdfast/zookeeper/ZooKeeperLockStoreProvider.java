package dev.holdfast.zookeeper;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.zookeeper.config.ZooKeeperOptions;
import dev.holdfast.zookeeper.config.ZooKeeperUrl;
import dev.holdfast.zookeeper.node.ZnodePaths;
import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;

/**
 * Opens {@code zookeeper://[user:password@]host[:port][,host[:port]...][/root][?option=value]}. All hosts of the ensemble
 * should be named. The port is 2181 unless said. User and password are for the digest scheme. The root is the folder above
 * all locks, {@code /holdfast} unless said, and is made if it is missing. User, password, root and values may be
 * percent-encoded.
 *
 * <p>Options stand behind a question mark, as in {@code zookeeper://a,b,c/locks?sessionTimeout=30s&tls=true}. Times look like
 * {@code 500ms}, {@code 5s}, {@code 10m} or {@code PT5S}.
 *
 * <table>
 * <caption>Options</caption>
 * <tr><th>name</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@code sessionTimeout}</td><td>15s</td><td>how long the server keeps a client that it does not hear of; it may
 *     grant another one, by its own limits. A grant is told to live for two fifths of it, and then renewed.</td></tr>
 * <tr><td>{@code timeout}</td><td>5s</td><td>how long the connection and the outcome of a call may take; at most 20s</td></tr>
 * <tr><td>{@code acl}</td><td>open; creator with a login</td><td>{@code open}: everybody may use what is made;
 *     {@code creator}: who is logged in as the maker</td></tr>
 * <tr><td>{@code tls}</td><td>false</td><td>whether the connection is by TLS</td></tr>
 * <tr><td>{@code trustStore}, {@code trustStorePassword}</td><td>the JVM's</td><td>a file with the certificates that are
 *     trusted</td></tr>
 * <tr><td>{@code keyStore}, {@code keyStorePassword}</td><td>none</td><td>a file with the client's own certificate</td></tr>
 * <tr><td>{@code sasl}</td><td>none</td><td>the section of the JVM's JAAS file with which to log in, by
 *     SASL; it must be there</td></tr>
 * </table>
 *
 * An option that is not in this table is refused.
 */
public final class ZooKeeperLockStoreProvider implements LockStoreProvider {

    private static final int RETRY_MILLIS = 100;

    @Override
    public String form() {
        return ZooKeeperUrl.FORM;
    }

    @Override
    public boolean accepts(String url) {
        return url.startsWith("zookeeper://");
    }

    @Override
    public LockStore open(String url, MonotonicClock clock) {
        ZooKeeperUrl parsed = ZooKeeperUrl.parse(url);
        ZooKeeperOptions options = parsed.options();
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
                .connectString(parsed.hosts())
                .sessionTimeoutMs(Math.toIntExact(options.sessionTimeout().toMillis()))
                .connectionTimeoutMs(Math.toIntExact(options.timeout().toMillis()))
                .retryPolicy(new RetryOneTime(RETRY_MILLIS))
                .zkClientConfig(options.clientConfig())
                // The hosts of the URL are what is used, also behind a proxy.
                .ensembleTracker(false);
        String login = parsed.login();
        if (login != null) {
            builder.authorization("digest", login.getBytes(StandardCharsets.UTF_8));
        }
        CuratorFramework client = builder.build();
        client.start();
        boolean ready = false;
        try {
            boolean authenticated = login != null || options.sasl() != null;
            ZooKeeperLockStore store = ZooKeeperLockStore.opened(
                    client, true, new ZnodePaths(parsed.root()), options.acl(authenticated), options.timeout(), clock);
            ready = true;
            return store;
        } finally {
            if (!ready) {
                client.close();
            }
        }
    }
}
