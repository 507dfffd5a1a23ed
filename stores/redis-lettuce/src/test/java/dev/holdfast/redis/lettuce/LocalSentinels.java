package dev.holdfast.redis.lettuce;

import static dev.holdfast.testkit.StoreTest.awaitUntil;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** A real primary with two replicas, and three Sentinels that watch them, for a test. */
final class LocalSentinels implements AutoCloseable {

    static final String NAME = "locks";

    private final RedisClient client = RedisClient.create();
    private final List<LocalRedis> servers = new ArrayList<>();
    private final List<LocalRedis> sentinels = new ArrayList<>();

    private LocalSentinels() {}

    /** Starts them; a server that does not answer for so long is down. */
    static LocalSentinels start(Duration downAfter) {
        LocalSentinels all = new LocalSentinels();
        boolean ready = false;
        try {
            LocalRedis primary = LocalRedis.start("--repl-diskless-sync-delay", "0");
            all.servers.add(primary);
            for (int i = 0; i < 2; i++) {
                all.servers.add(LocalRedis.start(
                        "--repl-diskless-sync-delay",
                        "0",
                        "--replicaof",
                        "127.0.0.1",
                        Integer.toString(primary.port())));
            }
            awaitUntil(() -> all.upToDate(primary), "the replicas do not follow");
            for (int i = 0; i < 3; i++) {
                all.sentinels.add(LocalRedis.startSentinel(primary, downAfter));
            }
            awaitUntil(all::know, "the Sentinels do not know each other");
            ready = true;
            return all;
        } finally {
            if (!ready) {
                all.close();
            }
        }
    }

    /** Waits until the replicas that run have whatever the primary has. */
    void awaitReplicas() {
        LocalRedis primary = named();
        awaitUntil(() -> upToDate(primary), "the replicas do not follow");
    }

    private boolean upToDate(LocalRedis primary) {
        String state = primary.ask(redis -> redis.info("replication"));
        String offset = state.replaceAll("(?s).*master_repl_offset:(\\d+).*", "$1");
        long following = state.lines()
                .filter(line -> line.contains("state=online") && line.contains("offset=" + offset + ","))
                .count();
        return following == servers.stream().filter(LocalRedis::isRunning).count() - 1;
    }

    private boolean know() {
        return sentinels.stream().allMatch(sentinel -> {
            try (StatefulRedisSentinelConnection<String, String> asked = client.connectSentinel(sentinel.uri())) {
                var state = asked.sync().master(NAME);
                return "2".equals(state.get("num-slaves")) && "2".equals(state.get("num-other-sentinels"));
            }
        });
    }

    /** The server that the Sentinels name. */
    LocalRedis named() {
        try (StatefulRedisSentinelConnection<String, String> asked =
                client.connectSentinel(sentinels.get(0).uri())) {
            int port = ((InetSocketAddress) asked.sync().getMasterAddrByName(NAME)).getPort();
            return servers.stream()
                    .filter(server -> server.port() == port)
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Waits until the Sentinels name another primary than this, and it says so itself. */
    LocalRedis awaitAnother(LocalRedis old) {
        awaitUntil(
                () -> {
                    try {
                        LocalRedis named = named();
                        return named != old
                                && named.ask(redis -> redis.info("replication")).contains("role:master");
                    } catch (RedisException notNow) {
                        return false;
                    }
                },
                "the Sentinels name no other primary");
        return named();
    }

    String url() {
        return "redis-sentinel+lettuce://"
                + sentinels.stream()
                        .map(sentinel -> "127.0.0.1:" + sentinel.port())
                        .collect(Collectors.joining(","))
                + "/" + NAME;
    }

    RedisURI uri() {
        RedisURI.Builder builder = RedisURI.builder().withSentinelMasterId(NAME).withTimeout(Duration.ofSeconds(1));
        sentinels.forEach(sentinel -> builder.withSentinel("127.0.0.1", sentinel.port()));
        return builder.build();
    }

    @Override
    public void close() {
        sentinels.forEach(LocalRedis::close);
        servers.forEach(LocalRedis::close);
        client.shutdown();
    }
}
