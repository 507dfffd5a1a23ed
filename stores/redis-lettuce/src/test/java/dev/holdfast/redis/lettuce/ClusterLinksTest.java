package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.client.RedisPort.Subscriber;
import dev.holdfast.redis.client.Script;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.StoreTest;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Protocol;

/** What the connections to a cluster do for their users. */
class ClusterLinksTest extends StoreTest {

    private static final Duration TIMEOUT = Duration.ofMillis(100);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final MonotonicClock CLOCK = MonotonicClock.SYSTEM;

    private final RedisServer node = closing(RedisServer.start("--cluster-enabled", "yes"));

    @Test
    void tableOfSlotsOfAFrozenNodeIsNotWaitedForTooLong() {
        ClusterLinks links = closing(new ClusterLinks(client(), TIMEOUT));
        node.signal("STOP");
        CompletableFuture<?> asked = links.refreshed();
        assertThatThrownBy(asked::join).hasCauseInstanceOf(TimeoutException.class);
        node.signal("CONT");
        awaitUntil(() ->
                !links.refreshed().handle((done, failure) -> failure != null).join());
        assertThat(links.slots()).containsExactly(0);
    }

    @Test
    void frozenNodeThatDoesNotConfirmASubscriptionIsNotWaitedForForEver() {
        LettucePort port = closing(new LettucePort(
                new ClusterLinks(client(), TIMEOUT), "the cluster", TIMEOUT, Duration.ofSeconds(1), CLOCK, null));
        RecordingSubscriber subscriber = new RecordingSubscriber();
        repaired(() -> get(port.subscribe("channel:a", subscriber)));
        node.signal("STOP");
        StoreException failure = failure(port.subscribe("channel:b", subscriber));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isTrue();
        assertThat(failure).hasMessageContaining("Cannot subscribe").hasMessageContaining("the cluster");
        node.signal("CONT");
        repaired(() -> get(port.subscribe("channel:b", subscriber)));
        node.ask(redis -> redis.sendCommand(Protocol.Command.SPUBLISH, "channel:b", "text"));
        awaitUntil(() -> subscriber.messages.contains("text"));
    }

    /** Before, the locks of a node that was away for a minute stayed out of reach for up to half a minute longer. */
    @Test
    void lostConnectionToANodeIsReplacedAfterShortPausesOnly() {
        ClientResources resources = LettuceLockStoreProvider.ofClusters();
        Delay pauses = resources.reconnectDelay();
        assertThat(IntStream.of(1, 15, 100, Integer.MAX_VALUE).mapToObj(pauses::createDelay))
                .allSatisfy(pause -> assertThat(pause).isLessThanOrEqualTo(LettuceLockStoreProvider.LONGEST_PAUSE));
        resources.shutdown();
    }

    /** Such as that of one that is gone, until another one has its slots. */
    @Test
    void addressOfANodeThatIsNotKnownIsReported() {
        RedisClusterClient client = client();
        LettucePort port = closing(new LettucePort(
                new ClusterLinks(client, PATIENCE), "the cluster", PATIENCE, PATIENCE.multipliedBy(12), CLOCK, null));
        ServerCall call = new ServerCall(Script.LIST, 1, new byte[][] {{'a'}});
        get(port.run(call, reply -> reply));
        get(port.runAll(List.of(call), replies -> replies));
        RedisClusterNode known = client.getPartitions().getPartition(0);
        RedisClusterNode gone =
                new RedisClusterNode(null, known.getNodeId(), true, null, 0, 0, 0, known.getSlots(), known.getFlags());
        client.getPartitions().reload(List.of(gone));
        assertThat(get(port.slots())).containsExactly(0);
        assertNotReached(failure(port.run(call, reply -> reply)), "does not know the address");
        assertNotReached(
                (StoreException)
                        get(port.runAll(List.of(call), replies -> replies)).get(0),
                "does not know the address");
    }

    @Test
    void hostThatANodeDoesNotNameIsFoundByItsPort() {
        ClusterLinks links = closing(new ClusterLinks(client(), PATIENCE));
        assertThat(links.to(null, node.port(), false).join().host()).isEqualTo("127.0.0.1");
        assertThatThrownBy(() -> links.to(null, 1, false).join())
                .hasMessageContaining("port 1")
                .hasMessageContaining("cluster-announce-hostname");
    }

    private static void assertNotReached(StoreException failure, String why) {
        assertThat(failure).hasMessageContaining(why);
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isTrue();
    }

    /** A client whose own settings allow an hour for each answer. */
    private RedisClusterClient client() {
        node.ask(redis -> redis.clusterAddSlots(IntStream.range(0, 16_384).toArray()));
        awaitUntil(() -> node.ask(redis -> redis.clusterInfo()).contains("cluster_state:ok"));
        RedisURI uri = RedisURI.create("127.0.0.1", node.port());
        uri.setTimeout(Duration.ofHours(1));
        RedisClusterClient client = RedisClusterClient.create(uri);
        closing(client::shutdown);
        client.getPartitions();
        return client;
    }

    private static final class RecordingSubscriber implements Subscriber {

        private final Queue<String> messages = new ConcurrentLinkedQueue<>();

        @Override
        public void message(String text) {
            messages.add(text);
        }

        @Override
        public void resubscribed() {}
    }
}
