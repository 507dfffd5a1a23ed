package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.ServerAddress;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Opens the URLs of {@link dev.holdfast.redis.RedisLockStoreProvider} over Lettuce, if {@code +lettuce} follows
 * their scheme: {@code redis+lettuce://}, {@code rediss+lettuce://}, {@code redis-sentinel+lettuce://} and
 * {@code rediss-sentinel+lettuce://}. The options are the same; {@code connections} has no effect, since all calls
 * share a connection.
 */
public final class LettuceLockStoreProvider implements LockStoreProvider {

    private static final Pattern SCHEME = Pattern.compile("^(rediss?(?:-sentinel)?)\\+lettuce://");

    /** The longest pause before another attempt to replace a lost connection, as with Jedis. */
    static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

    /** How long the threads of a client may take to end, as Lettuce lets those of its own resources. */
    private static final int SHUTDOWN_SECONDS = 2;

    @Override
    public String form() {
        return "redis[s][-sentinel]+lettuce://... as redis[s][-sentinel]://...";
    }

    @Override
    public boolean accepts(String url) {
        return SCHEME.matcher(url).find();
    }

    @Override
    public LockStore open(String url, MonotonicClock clock) {
        LettuceRedis.LETTUCE.require();
        String plain = SCHEME.matcher(url).replaceFirst("$1://");
        RedisUrl parsed = RedisUrl.parse(plain);
        int question = plain.indexOf('?');
        String options = question < 0 ? "" : plain.substring(question + 1);
        return parsed.options().cluster() ? cluster(parsed, options, clock) : server(parsed, options, clock);
    }

    private static LockStore server(RedisUrl url, String options, MonotonicClock clock) {
        RedisClient client = RedisClient.create();
        client.setOptions(settings(url.options().timeout()));
        return LettuceRedis.over(client, uri(url), options, url.toString(), clock, client::shutdownAsync);
    }

    private static LockStore cluster(RedisUrl url, String options, MonotonicClock clock) {
        List<RedisURI> nodes = url.hosts().stream().map(host -> node(url, host)).toList();
        ClientResources resources = ofClusters();
        RedisClusterClient client = RedisClusterClient.create(resources, nodes);
        client.setOptions(
                ClusterClientOptions.builder(settings(url.options().timeout())).build());
        return LettuceRedis.over(
                client,
                options,
                url.toString(),
                clock,
                () -> client.shutdownAsync()
                        .whenComplete((done, failure) -> resources.shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS)));
    }

    /** A lost connection to a node is replaced by Lettuce only, which tries that after pauses of up to half a minute by itself. */
    static ClientResources ofClusters() {
        return ClientResources.builder()
                .reconnectDelay(Delay.exponential(Duration.ZERO, LONGEST_PAUSE, 2, TimeUnit.MILLISECONDS))
                .build();
    }

    private static ClientOptions settings(Duration timeout) {
        ClientOptions.Builder builder =
                ClientOptions.builder().protocolVersion(ProtocolVersion.RESP2).socketOptions(socket(timeout));
        NewCalls.withoutMaintenanceNotifications(builder);
        return builder.build();
    }

    // The keep-alive probes of the operating system find a connection that died without notice.
    private static SocketOptions socket(Duration timeout) {
        return SocketOptions.builder()
                .connectTimeout(timeout)
                .keepAlive(SocketOptions.KeepAliveOptions.builder()
                        .enable()
                        .idle(Duration.ofSeconds(5))
                        .interval(Duration.ofSeconds(1))
                        .count(3)
                        .build())
                .build();
    }

    private static RedisURI uri(RedisUrl url) {
        String primary = url.primaryName();
        if (primary == null) {
            return node(url, url.hosts().get(0));
        }
        RedisOptions options = url.options();
        RedisURI.Builder builder = RedisURI.builder().withSentinelMasterId(primary);
        for (ServerAddress host : url.hosts()) {
            RedisURI.Builder sentinel = RedisURI.builder()
                    .withHost(host.host())
                    .withPort(host.port())
                    .withSsl(url.tls())
                    .withTimeout(options.timeout());
            login(sentinel, empty(options.sentinelUser()), empty(options.sentinelPassword()));
            builder.withSentinel(sentinel.build());
        }
        return common(builder, url).build();
    }

    private static RedisURI node(RedisUrl url, ServerAddress host) {
        return common(RedisURI.builder().withHost(host.host()).withPort(host.port()), url)
                .build();
    }

    private static RedisURI.Builder common(RedisURI.Builder builder, RedisUrl url) {
        builder.withDatabase(url.database())
                .withSsl(url.tls())
                .withTimeout(url.options().timeout())
                .withClientName("holdfast");
        login(builder, url.user(), url.password());
        return builder;
    }

    private static void login(RedisURI.Builder builder, @Nullable String user, @Nullable String password) {
        if (password == null) {
            return;
        }
        if (user == null) {
            builder.withPassword(password.toCharArray());
        } else {
            builder.withAuthentication(user, password.toCharArray());
        }
    }

    private static @Nullable String empty(String text) {
        return text.isEmpty() ? null : text;
    }
}
