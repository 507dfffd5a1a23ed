package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.testkit.StoreTest;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What the connections to a cluster do for their users. */
class ClusterLinksTest extends StoreTest {

    /** The client's own settings allow a minute. */
    @Test
    void tableOfSlotsOfAFrozenNodeIsNotWaitedForTooLong() {
        RedisServer node = closing(RedisServer.start("--cluster-enabled", "yes"));
        node.ask(redis -> redis.clusterAddSlots(IntStream.range(0, 16_384).toArray()));
        awaitUntil(() -> node.ask(redis -> redis.clusterInfo()).contains("cluster_state:ok"));
        RedisClusterClient client = RedisClusterClient.create(RedisURI.create("127.0.0.1", node.port()));
        closing(client::shutdown);
        client.getPartitions();
        ClusterLinks links = closing(new ClusterLinks(client, Duration.ofMillis(100)));
        node.signal("STOP");
        CompletableFuture<?> asked = links.refreshed();
        assertThatThrownBy(asked::join).hasCauseInstanceOf(TimeoutException.class);
        node.signal("CONT");
        awaitUntil(() ->
                !links.refreshed().handle((done, failure) -> failure != null).join());
        assertThat(links.slots()).containsExactly(0);
    }
}
