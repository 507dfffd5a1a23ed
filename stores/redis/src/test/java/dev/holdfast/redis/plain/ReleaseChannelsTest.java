package dev.holdfast.redis.plain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.redis.jedis.JedisPorts;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Protocol.Command;

/** Who is called when something is published, and how long a channel stays subscribed. */
class ReleaseChannelsTest extends StoreTest {

    private final RedisServer server = closing(RedisServer.start());
    private final RedisPort port = closing(JedisPorts.open(RedisUrl.parse(server.url()), MonotonicClock.SYSTEM));
    private final Queue<Runnable> sweeps = new ArrayDeque<>();
    private final ReleaseChannels channels = closing(new ReleaseChannels(port, sweeps::add));

    /** It counts how often it was called. */
    private static final class Watcher extends AtomicInteger implements Runnable {

        @Override
        public void run() {
            incrementAndGet();
        }
    }

    @Test
    void allWatchersOfAChannelAreCalledAndNoOthers() {
        Watcher first = new Watcher();
        Watcher other = new Watcher();
        channels.watch("a", first);
        channels.watch("b", other);
        awaitUntil(() -> first.get() == 1 && other.get() == 1, "the confirmation is a hint, too");
        Watcher second = new Watcher();
        ListenerRegistration registration = channels.watch("a", second);
        assertThat(channels.watch("a", second)).as("another one").isNotEqualTo(registration);
        publish("a");
        awaitUntil(() -> first.get() == 2 && second.get() == 2);
        registration.close();
        registration.close();
        publish("a");
        awaitUntil(() -> first.get() == 3 && second.get() == 3);
        publish("b");
        awaitUntil(() -> other.get() == 2);
        assertThat(first).hasValue(3);
        assertThat(second).hasValue(3);
    }

    @Test
    void channelThatIsNotWatchedStaysForAWhileAndComesBack() {
        for (int i = 0; i < 3; i++) {
            Watcher watcher = new Watcher();
            Watcher lasting = new Watcher();
            ListenerRegistration registration = channels.watch("a", watcher);
            ListenerRegistration longer = channels.watch("b", lasting);
            awaitUntil(() -> watcher.get() == 1 && lasting.get() == 1);
            registration.close();
            sweep();
            assertThat(subscribed()).containsExactlyInAnyOrder("a", "b");
            channels.watch("a", watcher).close();
            sweep();
            assertThat(subscribed()).as("it was used").containsExactlyInAnyOrder("a", "b");
            sweep();
            awaitUntil(() -> subscribed().equals(List.of("b")));
            assertThat(watcher).as("it was confirmed, and closed").hasValue(1);
            longer.close();
            sweep();
            sweep();
            awaitUntil(() -> subscribed().isEmpty());
            assertThat(sweeps).as("nothing is left to be swept").isEmpty();
        }
    }

    @Test
    void connectionThatBreaksIsAHint() {
        Watcher watcher = new Watcher();
        channels.watch("a", watcher);
        awaitUntil(() -> watcher.get() == 1);
        server.ask(jedis -> jedis.sendCommand(Command.CLIENT, "KILL", "TYPE", "pubsub"));
        awaitUntil(() -> watcher.get() == 2);
        publish("a");
        awaitUntil(() -> watcher.get() == 3);
    }

    @Test
    void subscriptionThatFailsIsTriedAgainWithTheNextWatcher() {
        server.ask(jedis -> jedis.aclSetUser("app", "on", ">secret", "~*", "+@all"));
        RedisPort mute = closing(JedisPorts.open(
                RedisUrl.parse("redis://app:secret@127.0.0.1:" + server.port()), MonotonicClock.SYSTEM));
        ReleaseChannels refused = closing(new ReleaseChannels(mute, sweeps::add));
        Watcher watcher = new Watcher();
        refused.watch("a", watcher);
        awaitUntil(() -> server.ask(jedis -> jedis.aclLog()).size() > 0);
        server.ask(jedis -> jedis.aclSetUser("app", "allchannels"));
        awaitUntil(() -> {
            refused.watch("a", watcher).close();
            return subscribed().equals(List.of("a"));
        });
        awaitUntil(() -> {
            publish("a");
            return watcher.get() > 0;
        });
    }

    /** Before, no sweep was ever scheduled again, and the channel counted as one that is being subscribed. */
    @Test
    void errorInSchedulingASweepLeavesNothingBehind() {
        AtomicInteger errors = new AtomicInteger(1);
        ReleaseChannels failing = closing(new ReleaseChannels(port, sweep -> {
            if (errors.getAndDecrement() > 0) {
                throw new OutOfMemoryError("by the test");
            }
            sweeps.add(sweep);
        }));
        Watcher watcher = new Watcher();
        assertThatThrownBy(() -> failing.watch("a", watcher)).isInstanceOf(OutOfMemoryError.class);
        ListenerRegistration registration = failing.watch("a", watcher);
        awaitUntil(() -> watcher.get() == 1);
        registration.close();
        sweep();
        sweep();
        awaitUntil(() -> subscribed().isEmpty());
    }

    @Test
    void closedChannelsCallNobodyAndSubscribeToNothing() {
        Watcher watcher = new Watcher();
        channels.watch("a", watcher);
        awaitUntil(() -> watcher.get() == 1);
        channels.close();
        channels.watch("b", watcher).close();
        publish("a");
        sweep();
        port.close();
        awaitUntil(() -> subscribed().isEmpty());
        assertThat(watcher).hasValue(1);
        assertThat(sweeps).isEmpty();
    }

    private void sweep() {
        Runnable next = sweeps.poll();
        if (next != null) {
            next.run();
        }
    }

    private void publish(String channel) {
        server.ask(jedis -> jedis.publish(channel, "0"));
    }

    private List<String> subscribed() {
        return server.ask(jedis -> jedis.pubsubChannels());
    }
}
