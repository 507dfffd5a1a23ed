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
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
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
    private final Queue<Subscription> subscriptions = new ConcurrentLinkedQueue<>();
    private final Moves moves = new Moves();
    private final AtomicInteger errors = new AtomicInteger();
    private final ClusterChannels channels =
            closing(new ClusterChannels(node -> next(), slots(), MonotonicClock.SYSTEM, new UnstartableOnce()));

    /** The subscription is closed after it was looked up, and before the channel is added to it. */
    @Test
    void channelOfANodeThatIsBeingLeftIsSubscribedElsewhere() {
        serveAll();
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

    /** Before, a search whose thread could not be started, or that an Error ended, was the last one. */
    @Test
    void searchThatCannotBeginOrGoOnIsBegunAgain() {
        serveAll();
        subscription();
        channels.subscribe(CHANNEL, new NoOpSubscriber());
        subscription();
        errors.set(1);
        channels.resubscribe(CHANNEL);
        awaitUntil(moves.displaced::get);
        assertThat(subscriptions).hasSize(1);
        channels.check();
        awaitUntil(subscriptions::isEmpty);
        awaitUntil(() -> server.ask(Jedis::pubsubShardChannels).equals(List.of(CHANNEL)));
    }

    private void serveAll() {
        server.ask(jedis ->
                jedis.clusterAddSlots(IntStream.range(0, HashSlot.COUNT).toArray()));
        awaitUntil(() -> server.ask(Jedis::clusterInfo).contains("cluster_state:ok"));
    }

    private Subscription next() {
        if (errors.getAndDecrement() > 0) {
            throw new OutOfMemoryError("by the test");
        }
        return subscriptions.remove();
    }

    private Subscription subscription() {
        Subscription subscription = closing(new Subscription(connections, MonotonicClock.SYSTEM, moves));
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

    private final class Moves implements Subscription.Displaced {

        private final AtomicBoolean displaced = new AtomicBoolean();

        @Override
        public void displaced(List<Channel> lost) {
            channels.displaced(lost);
            displaced.set(true);
        }

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
