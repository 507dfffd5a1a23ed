package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.MovedPrimaryLaws;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import java.util.List;

class LettuceMovedPrimaryTest extends MovedPrimaryLaws {

    @Override
    protected LockStore open(String url) {
        return new LettuceLockStoreProvider().open(LettuceUrl.of(url), MonotonicClock.SYSTEM);
    }

    @Override
    protected RedisPort port(String url) {
        List<RedisURI> nodes = RedisUrl.parse(url).hosts().stream()
                .map(node -> RedisURI.create(node.host(), node.port()))
                .toList();
        RedisClusterClient client = RedisClusterClient.create(nodes);
        // Asks for the table of slots, without which there is no connection.
        client.getPartitions();
        Duration timeout = RedisOptions.parse("").timeout();
        return new LettucePort(
                new ClusterLinks(client, timeout),
                url,
                timeout,
                timeout.multipliedBy(12),
                MonotonicClock.SYSTEM,
                client::shutdownAsync);
    }
}
