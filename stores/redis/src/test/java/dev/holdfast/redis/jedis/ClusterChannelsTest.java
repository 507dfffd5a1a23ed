package dev.holdfast.redis.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort.Subscriber;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.ServerAddress;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Jedis;

/** Channels of a cluster of one node. */
class ClusterChannelsTest extends StoreTest {

    private static final String CHANNEL = "channel";

    private final RedisServer server = closing(RedisServer.start("--cluster-enabled", "yes"));
    private final OwnConnections connections =
            closing(OwnConnections.toServer(RedisUrl.parse(server.url()), MonotonicClock.SYSTEM));
    private final Queue<Subscription> subscriptions = new ArrayDeque<>();
    private final ClusterChannels channels =
            closing(new ClusterChannels(node -> subscriptions.remove(), slots(), MonotonicClock.SYSTEM));

    /** The subscription is closed after it was looked up, and before the channel is added to it. */
    @Test
    void channelOfANodeThatIsBeingLeftIsSubscribedElsewhere() {
        server.ask(jedis ->
                jedis.clusterAddSlots(IntStream.range(0, HashSlot.COUNT).toArray()));
        awaitUntil(() -> server.ask(Jedis::clusterInfo).contains("cluster_state:ok"));
        Subscription left = subscription();
        Subscription next = subscription();
        assertThat(left.closeIfIdle()).isTrue();
        assertThatThrownBy(() -> channels.subscribe(CHANNEL, new NoOpSubscriber()))
                .isInstanceOf(StoreException.class);
        channels.subscribe(CHANNEL, new NoOpSubscriber());
        List<String> subscribed = server.ask(Jedis::pubsubShardChannels);
        assertThat(subscribed).containsExactly(CHANNEL);
        assertThat(next.closeIfIdle()).isFalse();
    }

    private Subscription subscription() {
        Subscription subscription = closing(new Subscription(connections, MonotonicClock.SYSTEM, new NoMoves()));
        subscriptions.add(subscription);
        return subscription;
    }

    private SlotTable slots() {
        List<ServerAddress> seeds = RedisUrl.parse(server.url()).hosts();
        return new SlotTable(seeds, new NodeConnections(), Duration.ofSeconds(2), MonotonicClock.SYSTEM);
    }

    private final class NodeConnections implements SlotTable.NodeConnections {

        @Override
        public Connection open(ServerAddress node) {
            return connections.open();
        }

        @Override
        public void ended(ServerAddress node, Connection connection) {
            connections.discard(connection);
        }
    }

    private static final class NoMoves implements Subscription.Displaced {

        @Override
        public void displaced(List<Channel> lost) {}

        @Override
        public void moved(int slot, Exchange.Redirection owner) {}
    }

    private static final class NoOpSubscriber implements Subscriber {

        @Override
        public void message(String text) {}

        @Override
        public void resubscribed() {}
    }
}
