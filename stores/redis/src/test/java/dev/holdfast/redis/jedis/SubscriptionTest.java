package dev.holdfast.redis.jedis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Protocol.Command;

/** Channels that come and go on one connection. */
class SubscriptionTest extends StoreTest {

    private static final int ROUNDS = 20;
    private static final String CHANNEL = "channel";

    /** On a cluster the server answers in another way, and the channels have a table of their own. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void channelCanBeSubscribedAgain(boolean cluster) {
        RedisServer server = server(cluster);
        RedisPort port = port(server, cluster);
        get(port.subscribe("another", new RecordingSubscriber()));
        String before = subscriber(server);
        for (int i = 0; i < ROUNDS; i++) {
            String text = "round " + i;
            RecordingSubscriber subscriber = new RecordingSubscriber();
            get(port.subscribe(CHANNEL, subscriber));
            server.ask(jedis -> jedis.sendCommand(cluster ? Command.SPUBLISH : Command.PUBLISH, CHANNEL, text));
            awaitUntil(() -> !subscriber.texts.isEmpty());
            assertThat(subscriber.texts).containsExactly(text);
            port.unsubscribe(CHANNEL);
        }
        assertThat(subscriber(server)).as("on the same connection").isEqualTo(before);
    }

    /** The reader ends with its last channel, while the same channel is wanted again. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void onlyChannelCanBeSubscribedAgain(boolean cluster) {
        RedisServer server = server(cluster);
        RedisPort port = port(server, cluster);
        for (int i = 0; i < 10 * ROUNDS; i++) {
            get(port.subscribe(CHANNEL, new RecordingSubscriber()));
            port.unsubscribe(CHANNEL);
        }
        awaitUntil(() -> subscriber(server).equals("[]"));
    }

    /** Before, the reader ended, and nothing reached the client any more. */
    @Test
    void whatIsThrownWhileAMessageIsHandledDoesNotEndTheReader() {
        RedisServer server = server(false);
        RedisPort port = port(server, false);
        List<String> texts = new CopyOnWriteArrayList<>();
        get(port.subscribe(CHANNEL, new RedisPort.Subscriber() {
            @Override
            public void message(String text) {
                texts.add(text);
                if (texts.size() == 1) {
                    throw new OutOfMemoryError("by the test");
                }
            }

            @Override
            public void resubscribed() {
                texts.add("subscribed again");
            }
        }));
        server.ask(jedis -> jedis.publish(CHANNEL, "one"));
        awaitUntil(() -> texts.contains("subscribed again"));
        server.ask(jedis -> jedis.publish(CHANNEL, "two"));
        awaitUntil(() -> texts.contains("two"));
    }

    private RedisServer server(boolean cluster) {
        RedisServer server = closing(cluster ? RedisServer.start("--cluster-enabled", "yes") : RedisServer.start());
        if (cluster) {
            server.ask(jedis -> jedis.clusterAddSlotsRange(0, 16_383));
            awaitUntil(() -> server.ask(jedis -> jedis.clusterInfo()).contains("cluster_state:ok"));
        }
        return server;
    }

    private RedisPort port(RedisServer server, boolean cluster) {
        return closing(JedisPorts.open(
                RedisUrl.parse(server.url() + (cluster ? "?cluster=true" : "")), MonotonicClock.SYSTEM));
    }

    private static String subscriber(RedisServer server) {
        return server.ask(jedis -> jedis.clientList())
                .lines()
                .filter(line -> line.contains(" flags=P "))
                .map(line -> line.substring(0, line.indexOf(' ')))
                .toList()
                .toString();
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
