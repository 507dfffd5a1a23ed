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
     * @param client what follows the scheme
     * @param options further options of the store
     * @throws NoLockStoreException if Boot's settings cannot be written as a URL
     */
    static String of(DataRedisConnectionDetails details, String client, String options) {
        Sentinel sentinel = details.getSentinel();
        Cluster cluster = details.getCluster();
        Standalone standalone = details.getStandalone();
        if (sentinel != null) {
            return of(
                    scheme("redis", details.getSslBundle()) + "-sentinel" + client,
                    details,
                    hosts(sentinel.getNodes()) + "/" + encoded(sentinel.getMaster()) + "/" + sentinel.getDatabase(),
                    sentinelOptions(sentinel, options));
        }
        if (cluster != null) {
            return of(
                    scheme("redis", details.getSslBundle()) + client,
                    details,
                    hosts(cluster.getNodes()),
                    joined("cluster=true", options));
        }
        if (standalone == null) {
            throw new NoLockStoreException(
                    "The Redis of this application is neither one server, nor Sentinels, nor a cluster",
                    "Set holdfast.url to the server that keeps the locks");
        }
        String server = hosts(List.of(new Node(standalone.getHost(), standalone.getPort())));
        return of(
                scheme("redis", details.getSslBundle()) + client,
                details,
                server + "/" + standalone.getDatabase(),
                options);
    }

    private static String of(String scheme, DataRedisConnectionDetails details, String rest, String options) {
        String password = details.getPassword();
        String user = details.getUsername() == null ? "" : encoded(details.getUsername());
        String login = password == null ? "" : user + ":" + encoded(password) + "@";
        return scheme + "://" + login + rest + (options.isEmpty() ? "" : "?" + options);
    }

    // Certificates of Boot's own cannot be told to a store by its URL.
    private static String scheme(String scheme, @Nullable SslBundle bundle) {
        if (bundle == null) {
            return scheme;
        }
        if (bundle.getStores().getTrustStore() != null || bundle.getStores().getKeyStore() != null) {
            throw new NoLockStoreException(
                    "The Redis of this application is reached over TLS with certificates of an SSL bundle, which locks cannot use",
                    "Define a bean of the type LockStore: LettuceRedis.over(client, uri, \"\") with a client that has the certificates."
                            + " Or let the JVM trust the server (javax.net.ssl.trustStore) and set holdfast.url=rediss://..");
        }
        return scheme + "s";
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
