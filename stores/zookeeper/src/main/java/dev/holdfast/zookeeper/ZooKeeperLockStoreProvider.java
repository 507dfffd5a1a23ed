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
 * Opens {@code zookeeper://[user:password@]host[:port][,host[:port]...][/root][?option=value]}. All hosts of the
 * ensemble should be named. The default port is 2181. User and password are for the digest scheme. The root is the
 * node above all locks, by default {@code /holdfast}; it is created if it is missing. User, password, root and
 * values may be percent-encoded.
 *
 * <p>Options follow a question mark, as in {@code zookeeper://a,b,c/locks?sessionTimeout=30s&tls=true}. Times look
 * like {@code 500ms}, {@code 5s}, {@code 10m} or {@code PT5S}.
 *
 * <table>
 * <caption>Options</caption>
 * <tr><th>name</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@code sessionTimeout}</td><td>15s</td><td>how long the server keeps the session of a client that sends
 *     nothing; the server may grant another time, by its own limits. The reported lease of a grant is at most two
 *     fifths of it.</td></tr>
 * <tr><td>{@code timeout}</td><td>5s</td><td>how long connecting, or the outcome of a call, may take; at most
 *     20s</td></tr>
 * <tr><td>{@code acl}</td><td>open; creator with a login</td><td>{@code open}: everybody may use the created nodes;
 *     {@code creator}: only clients with the same login as their creator</td></tr>
 * <tr><td>{@code tls}</td><td>false</td><td>whether the connection uses TLS</td></tr>
 * <tr><td>{@code trustStore}, {@code trustStorePassword}</td><td>the JVM's</td><td>a file with the trusted
 *     certificates</td></tr>
 * <tr><td>{@code keyStore}, {@code keyStorePassword}</td><td>none</td><td>a file with the client's own
 *     certificate</td></tr>
 * <tr><td>{@code sasl}</td><td>none</td><td>the section of the JVM's JAAS file for the login by SASL; it must
 *     exist</td></tr>
 * </table>
 *
 * Options that are not in this table are refused.
 */
public final class ZooKeeperLockStoreProvider implements LockStoreProvider {

    /** The delay before Curator retries, in milliseconds. */
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
                // Uses only the hosts of the URL, because a proxy may hide the ensemble's own addresses.
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
