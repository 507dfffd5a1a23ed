package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.RedisCluster;
import dev.holdfast.redis.RedisLockStoreProvider;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Protocol.Command;

/** The layout of Redisson's locks through Lettuce. The tests of the other client have Redisson on their class path. */
class LettuceRedissonTest extends StoreTest {

    private static final String OPTIONS = "?layout=redisson";
    private static final int ROUNDS = 20;
    private static final String CHANNEL = "channel";

    @Test
    void bothClientsAreNotifiedOfReleases() {
        RedisServer server = closing(RedisServer.start());
        assertBothAreNotified(server.url());
    }

    @Test
    void bothClientsAreNotifiedOfReleasesOnACluster() {
        RedisCluster cluster = closing(RedisCluster.start());
        assertBothAreNotified(cluster.url());
    }

    private void assertBothAreNotified(String url) {
        LockStore lettuce =
                closing(new LettuceLockStoreProvider().open(LettuceUrl.of(url) + OPTIONS, MonotonicClock.SYSTEM));
        LockStore jedis = closing(new RedisLockStoreProvider().open(url + OPTIONS, MonotonicClock.SYSTEM));
        for (int i = 0; i < 6; i++) {
            LockName each = new LockName(name + "-" + i);
            assertIsNotified(lettuce, jedis, each);
            assertIsNotified(jedis, lettuce, each);
        }
    }

    private void assertIsNotified(LockStore watching, LockStore holding, LockName each) {
        AtomicInteger hints = new AtomicInteger();
        Claim claim = alice.mutex(each);
        granted(holding, claim);
        busy(watching, bob.mutex(each));
        assertThat(renewed(watching, claim)).as("any store may renew it").isInstanceOf(Granted.class);
        ListenerRegistration registration = watching.watch(each, hints::incrementAndGet);
        awaitUntil(() -> hints.get() == 1, "the confirmation is a hint, too");
        assertThat(released(holding, claim)).isTrue();
        awaitUntil(() -> hints.get() == 2);
        registration.close();
    }

    /** Each client's channel had a name of its own that was used once; those of these locks come back. */
    @Test
    void channelCanBeSubscribedAgain() {
        RedisServer server = closing(RedisServer.start());
        RedisClient client = RedisClient.create();
        closing(client::shutdown);
        RedisURI uri = RedisURI.create("127.0.0.1", server.port());
        assertCanBeSubscribedAgain(server, Command.PUBLISH, new ServerLinks(client, uri, Duration.ofSeconds(2)));
    }

    @Test
    void channelOfAClusterCanBeSubscribedAgain() {
        RedisServer node = closing(RedisServer.start("--cluster-enabled", "yes"));
        node.ask(jedis -> jedis.clusterAddSlotsRange(0, 16_383));
        awaitUntil(() -> node.ask(jedis -> jedis.clusterInfo()).contains("cluster_state:ok"));
        RedisClusterClient client = RedisClusterClient.create(RedisURI.create("127.0.0.1", node.port()));
        closing(client::shutdown);
        client.getPartitions();
        assertCanBeSubscribedAgain(node, Command.SPUBLISH, new ClusterLinks(client, Duration.ofSeconds(2)));
    }

    private void assertCanBeSubscribedAgain(RedisServer server, Command publish, Links links) {
        RedisPort port = closing(new LettucePort(
                links, "the server", Duration.ofSeconds(2), Duration.ofSeconds(20), MonotonicClock.SYSTEM, null));
        get(port.subscribe("another", new RecordingSubscriber()));
        for (int i = 0; i < ROUNDS; i++) {
            String text = "round " + i;
            RecordingSubscriber subscriber = new RecordingSubscriber();
            get(port.subscribe(CHANNEL, subscriber));
            server.ask(jedis -> jedis.sendCommand(publish, CHANNEL, text));
            awaitUntil(() -> !subscriber.texts.isEmpty());
            assertThat(subscriber.texts).containsExactly(text);
            port.unsubscribe(CHANNEL);
        }
    }

    private static final class RecordingSubscriber implements RedisPort.Subscriber {

        private final List<String> texts = new CopyOnWriteArrayList<>();

        @Override
        public void message(String text) {
            texts.add(text);
        }

        @Override
        public void resubscribed() {
            texts.add("subscribed again");
        }
    }
}
