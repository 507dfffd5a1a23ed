package dev.holdfast.spring.boot;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.StringJoiner;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Cluster;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Node;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Sentinel;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Standalone;
import org.springframework.boot.ssl.SslBundle;

/** The URL of the store in the Redis to which the application connects, however it names it to Spring Boot. */
final class RedisDetailsUrl {

    private RedisDetailsUrl() {}

    /**
     * @param tls whether the application asks for TLS with the certificates that the JVM trusts, other than by the details
     * @param client what follows the scheme
     * @param options further options of the store
     * @throws NoLockStoreException if Boot's settings cannot be written as a URL
     */
    static String of(DataRedisConnectionDetails details, boolean tls, String client, String options) {
        Sentinel sentinel = details.getSentinel();
        Cluster cluster = details.getCluster();
        Standalone standalone = details.getStandalone();
        String scheme = scheme(details.getSslBundle(), tls);
        if (sentinel != null) {
            return of(
                    scheme + "-sentinel" + client,
                    details,
                    hosts(sentinel.getNodes()) + "/" + encoded(sentinel.getMaster()) + "/" + sentinel.getDatabase(),
                    sentinelOptions(sentinel, options));
        }
        if (cluster != null) {
            return of(scheme + client, details, hosts(cluster.getNodes()), joined("cluster=true", options));
        }
        // Before the one server: Boot's own details name localhost there, if nothing else is set.
        if (details.getMasterReplica() != null) {
            throw new NoLockStoreException(
                    "The Redis of this application is a master with replicas that are listed"
                            + " (spring.data.redis.masterreplica.nodes), where locks do not know which server is the master",
                    "Set holdfast.url=redis://MASTER to the one that takes writes; or let Sentinels name it"
                            + " (spring.data.redis.sentinel.*), which locks follow to another master");
        }
        if (standalone == null) {
            throw new NoLockStoreException(
                    "The Redis of this application is neither one server, nor Sentinels, nor a cluster",
                    "Set holdfast.url to the server that keeps the locks");
        }
        String server = hosts(List.of(new Node(standalone.getHost(), standalone.getPort())));
        return of(scheme + client, details, server + "/" + standalone.getDatabase(), options);
    }

    private static String of(String scheme, DataRedisConnectionDetails details, String rest, String options) {
        String password = details.getPassword();
        String user = details.getUsername() == null ? "" : encoded(details.getUsername());
        String login = password == null ? "" : user + ":" + encoded(password) + "@";
        return scheme + "://" + login + rest + (options.isEmpty() ? "" : "?" + options);
    }

    // Certificates of Boot's own cannot be told to a store by its URL.
    private static String scheme(@Nullable SslBundle bundle, boolean tls) {
        if (bundle == null) {
            return tls ? "rediss" : "redis";
        }
        if (bundle.getStores().getTrustStore() != null || bundle.getStores().getKeyStore() != null) {
            throw new NoLockStoreException(
                    "The Redis of this application is reached over TLS with certificates of an SSL bundle, which locks cannot use",
                    "Define a bean of the type LockStore: LettuceRedis.over(client, uri, \"\") with a client that has the certificates."
                            + " Or let the JVM trust the server (javax.net.ssl.trustStore) and set holdfast.url=rediss://..");
        }
        return "rediss";
    }

    private static String sentinelOptions(Sentinel sentinel, String options) {
        String login = "";
        if (sentinel.getUsername() != null) {
            login = "sentinelUser=" + encoded(sentinel.getUsername());
        }
        if (sentinel.getPassword() != null) {
            login = joined(login, "sentinelPassword=" + encoded(sentinel.getPassword()));
        }
        return joined(login, options);
    }

    private static String hosts(List<Node> nodes) {
        return nodes.stream()
                .map(node -> (node.host().contains(":") ? "[" + node.host() + "]" : node.host()) + ":" + node.port())
                .collect(Collectors.joining(","));
    }

    private static String joined(String... options) {
        StringJoiner all = new StringJoiner("&");
        for (String each : options) {
            if (!each.isEmpty()) {
                all.add(each);
            }
        }
        return all.toString();
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
