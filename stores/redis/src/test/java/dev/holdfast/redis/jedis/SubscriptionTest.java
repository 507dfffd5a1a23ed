package dev.holdfast.redis.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.FaultProxy;
import java.nio.charset.StandardCharsets;
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

    /** Before, nobody replaced a silent connection unless something was renewed, and nothing is if the first claim waits. */
    @Test
    void firstConnectionThatIsSilentIsReplaced() {
        RedisServer server = server(false);
        FaultProxy proxy = closing(new FaultProxy(server.port()));
        FirstSubscriber judge = new FirstSubscriber();
        proxy.judge(judge);
        RedisPort port = closing(JedisPorts.open(
                RedisUrl.parse("redis://" + proxy.address() + "?timeout=500ms"), MonotonicClock.SYSTEM));
        repaired(() -> get(port.subscribe(CHANNEL, new RecordingSubscriber())));
        assertThat(judge.swallowed).isTrue();
    }

    /** Before, it was taken for one that runs, and no channel was ever confirmed. */
    @Test
    void threadThatCannotBeStartedIsStartedLater() {
        RedisServer server = server(false);
        OwnConnections connections =
                closing(OwnConnections.toServer(RedisUrl.parse(server.url()), MonotonicClock.SYSTEM));
        UnstartableOnce threads = new UnstartableOnce();
        Subscription subscription = closing(new Subscription(connections, MonotonicClock.SYSTEM, null, threads));
        Channel channel = new Channel(CHANNEL, new RecordingSubscriber(), MonotonicClock.SYSTEM);
        assertThatThrownBy(() -> subscription.add(channel))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failure -> assertThat(failure.retryable()).isTrue());
        subscription.check();
        subscription.awaitConfirmation(channel, "the server");
    }

    /** Before, it was waited for while the server did not read, and all renewals waited for whoever did so. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void namesThatTheServerDoesNotReadAreGivenUp(boolean cluster) {
        RedisServer server = server(cluster);
        OwnConnections connections =
                closing(OwnConnections.toServer(RedisUrl.parse(server.url() + "?timeout=1s"), MonotonicClock.SYSTEM));
        Subscription subscription =
                closing(new Subscription(connections, MonotonicClock.SYSTEM, cluster ? new StaysHere() : null));
        Channel first = new Channel(CHANNEL, new RecordingSubscriber(), MonotonicClock.SYSTEM);
        subscription.add(first);
        subscription.awaitConfirmation(first, "the server");
        server.signal("STOP");
        try {
            for (int i = 0; i < 3; i++) {
                String name = "x".repeat(20_000_000) + i;
                subscription.add(new Channel(name, new RecordingSubscriber(), MonotonicClock.SYSTEM));
                subscription.check();
            }
        } finally {
            server.signal("CONT");
        }
    }

    private static final class StaysHere implements Subscription.Displaced {

        @Override
        public void displaced(List<Channel> channels) {}

        @Override
        public void moved(int slot, Exchange.Redirection owner) {}
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

    /** Swallows the confirmation of the first subscription, and lets all pass that comes later. */
    private static final class FirstSubscriber implements FaultProxy.Judge {

        private volatile boolean swallowed;

        @Override
        public FaultProxy.Fate judge(FaultProxy.Way way, boolean isFirst, byte[] message) {
            if (!swallowed
                    && way == FaultProxy.Way.TO_CLIENT
                    && new String(message, StandardCharsets.UTF_8).contains("subscribe")) {
                swallowed = true;
                return FaultProxy.Fate.pass(new byte[0]);
            }
            return FaultProxy.Fate.pass(message);
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
