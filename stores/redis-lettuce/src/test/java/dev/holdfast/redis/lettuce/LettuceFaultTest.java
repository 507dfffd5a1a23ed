package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.FaultProxy;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.params.ClientKillParams;

/** What a store on Lettuce reports and does when its server, or a connection, fails; and which client it uses. */
class LettuceFaultTest extends StoreTest {

    // With a sync each second, which is the default, the server delays even writes to the file while its disk is
    // busy.
    private final RedisServer server = RedisServer.start("--appendonly", "yes", "--appendfsync", "always");

    private int questions;

    @AfterEach
    void end() {
        server.close();
    }

    @Test
    void clientOfTheUsersIsUsedAndNotClosed() {
        RedisClient client = RedisClient.create();
        RedisURI uri = RedisURI.create("127.0.0.1", server.port());
        try {
            LockStore store = LettuceRedis.over(client, uri, "ticketTtl=2s");
            assertThat(store.traits().ticketTtl()).hasSeconds(2);
            assertThat(get(store.tryAcquire(alice.mutex(name)))).isInstanceOf(Granted.class);
            store.close();
            awaitUntil(() -> server.ask(redis -> redis.clientList().lines().count()) == 1);
            assertThat(client.connect(uri).sync().get("anything")).isNull();
            assertThat(failure(store.tryAcquire(alice.mutex(name))).effect()).isEqualTo(Effect.NONE);
        } finally {
            client.shutdown();
        }
    }

    @Test
    void frozenServerEndsCallsInTimeAsUnknown() {
        try (LockStore store = repaired(() -> open("?timeout=300ms"))) {
            Claim claim = alice.mutex(name);
            repaired(() -> granted(store, claim.again()));
            assertThat(repaired(() -> renewed(store, claim))).isInstanceOf(Granted.class);
            server.signal("STOP");
            assertThat(failure(store.release(claim)).effect()).isEqualTo(Effect.UNKNOWN);
            assertThat(failed(store, claim).effect()).isEqualTo(Effect.UNKNOWN);
            server.signal("CONT");
            repaired(() -> get(store.release(claim.again())));
            Attempt again = repaired(() -> get(store.tryAcquire(bob.mutex(name))));
            assertThat(again).isInstanceOf(Granted.class);
        }
    }

    @Test
    void restartAndKilledConnectionsLoseNeitherGrantsNorWaiters() {
        try (LockStore store = open("?ticketTtl=1m");
                LockStore other = open("?ticketTtl=1m")) {
            Claim holder = alice.mutex(name);
            assertThat(get(store.tryAcquire(holder))).isInstanceOf(Granted.class);
            RecordingListener listener = new RecordingListener();
            other.enqueue(bob.mutex(name), listener);
            awaitUntil(listener::wasNotified);
            server.kill();
            StoreException failure = failure(store.tryAcquire(alice.mutex(name)));
            assertThat(failure.retryable()).isTrue();
            server.startAgain();
            List<Renewed> answers = repaired(() -> get(store.renew(List.of(holder))));
            assertThat(answers.get(0)).isInstanceOf(Granted.class);
            awaitUntil(() -> server.ask(redis -> redis.pubsubChannels().size()) == 1);
            server.ask(redis -> redis.clientKill(new ClientKillParams().type(ClientType.PUBSUB)));
            server.ask(redis -> redis.clientKill(new ClientKillParams().type(ClientType.NORMAL)));
            awaitUntil(() -> server.ask(redis -> redis.pubsubChannels().size()) == 1);
            repaired(() -> get(store.release(holder.again())));
            awaitUntil(() -> listener.outcome().isPresent());
            assertThat(listener.outcome()).get().isInstanceOf(RecordingListener.Event.Granted.class);
        }
    }

    /** Before, nobody probed it unless something was renewed, and nothing is if the first claim waits. */
    @Test
    void firstSubscribedConnectionIsProbedToo() {
        SilentSubscriber judge = new SilentSubscriber();
        FaultProxy proxy = closing(new FaultProxy(server.port()));
        proxy.judge(judge);
        LockStore other = closing(repaired(() -> open("")));
        Claim holder = alice.mutex(name);
        repaired(() -> granted(other, holder.again()));
        LockStore store = closing(repaired(() -> new LettuceLockStoreProvider()
                .open("redis://" + proxy.address() + "?timeout=300ms", MonotonicClock.SYSTEM)));
        waitingAfterRepair(store, bob.mutex(name));
        assertThat(judge.over).isTrue();
    }

    /** The first connection that subscribes is silent from then on. */
    private static final class SilentSubscriber implements FaultProxy.Judge {

        private boolean silent;
        private volatile boolean over;

        @Override
        public synchronized FaultProxy.Fate judge(FaultProxy.Way way, boolean isFirst, byte[] message) {
            if (way == FaultProxy.Way.TO_SERVER) {
                over |= silent && isFirst;
                return FaultProxy.Fate.pass(message);
            }
            String text = new String(message, StandardCharsets.US_ASCII);
            silent |= text.contains("subscribe");
            boolean swallowed = silent && !over && (text.contains("subscribe") || text.contains("PONG"));
            return FaultProxy.Fate.pass(swallowed ? new byte[0] : message);
        }
    }

    @Test
    void subscribedConnectionIsProbedAndReplacedWithoutAnAnswer() {
        try (LockStore store = repaired(() -> open("?timeout=300ms&ticketTtl=1m"));
                LockStore other = repaired(() -> open("?timeout=300ms&ticketTtl=1m"))) {
            Claim holder = alice.mutex(name);
            Claim waiter = bob.mutex(name);
            repaired(() -> granted(store, holder.again()));
            RecordingListener listener = waitingAfterRepair(other, waiter);
            AtomicReference<String> subscribed = new AtomicReference<>("");
            awaitUntil(() -> staysWhileItAnswers(other, waiter, subscribed), "a connection that answers is replaced");
            server.signal("STOP");
            failed(other, waiter);
            failed(other, waiter);
            server.signal("CONT");
            awaitUntil(() -> {
                repaired(() -> get(other.renew(List.of(waiter))));
                return !subscribed().isEmpty() && !subscribed().equals(subscribed.get());
            });
            repaired(() -> get(store.release(holder)));
            awaitUntil(() -> listener.outcome().isPresent());
            assertThat(listener.outcome()).get().isInstanceOf(RecordingListener.Event.Granted.class);
        }
    }

    // If the machine is busy, an answer may once come after the time limit, which is short.
    private boolean staysWhileItAnswers(LockStore store, Claim waiter, AtomicReference<String> subscribed) {
        subscribed.set(subscribed());
        long before = pings();
        awaitUntil(() -> {
            repaired(() -> get(store.renew(List.of(waiter))));
            return pings() > before + 5;
        });
        return !subscribed.get().isEmpty() && subscribed().equals(subscribed.get());
    }

    // The ids of the connections with subscriptions.
    private String subscribed() {
        return server.ask(redis -> redis.clientList()
                .lines()
                .filter(line -> !line.contains(" sub=0 "))
                .map(line -> line.replaceAll("id=(\\d+) .*", "$1"))
                .collect(Collectors.joining(",")));
    }

    private long pings() {
        String calls = server.ask(redis -> redis.info("commandstats"));
        return Long.parseLong("0" + calls.replaceAll("(?s).*cmdstat_ping:calls=(\\d+).*|.*", "$1"));
    }

    @Test
    void replicaIsLeftForTheServerAtTheAddress() {
        try (LockStore store = open("")) {
            Claim holder = alice.mutex(name);
            assertThat(get(store.tryAcquire(holder))).isInstanceOf(Granted.class);
            assertThat(get(store.renew(List.of(holder))).get(0)).isInstanceOf(Granted.class);
            server.ask(redis -> redis.replicaof("127.0.0.1", 1));
            StoreException failure = failure(store.tryAcquire(alice.mutex(new LockName("new"))));
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isTrue();
            assertThat(failure).hasMessageContaining("replica");
            assertThat(failed(store, holder)).hasMessageContaining("replica");
            Set<String> before = connections();
            server.ask(redis -> redis.replicaofNoOne());
            assertThat(get(store.renew(List.of(holder))).get(0)).isInstanceOf(Granted.class);
            assertThat(get(store.release(holder)).wasOwner()).isTrue();
            // The old ones are closed by another thread.
            awaitUntil(() -> connections().size() == 2 && !connections().removeAll(before));
        }
    }

    /** New connections lead to the replica for as long as the name service names it. */
    @Test
    void replicaIsNotSubscribedToAgainAndAgain() {
        int refreshes = 50;
        ManualClock clock = new ManualClock();
        try (LockStore store =
                new LettuceLockStoreProvider().open(LettuceUrl.of(server.url()) + "?timeout=8s&ticketTtl=1m", clock)) {
            granted(store, alice.mutex(name));
            Claim waiter = bob.mutex(name);
            waiting(store, waiter);
            server.ask(redis -> redis.replicaof("127.0.0.1", 1));
            long before = connectionsSoFar();
            for (int i = 0; i < refreshes; i++) {
                failed(store, waiter);
            }
            awaitUntil(() -> subscriptionsSoFar() >= 2);
            // One for the new subscription, and one for each refresh: it makes one itself. The test's own do not count.
            assertThat(connectionsSoFar() - before - questions).isLessThanOrEqualTo(refreshes + 2L);
            clock.advance(Duration.ofSeconds(2));
            awaitUntil(() -> {
                failed(store, waiter);
                return subscriptionsSoFar() == 3;
            });
        }
    }

    private long connectionsSoFar() {
        questions++;
        String stats = server.ask(redis -> redis.info("stats"));
        return Long.parseLong(stats.replaceAll("(?s).*total_connections_received:(\\d+).*", "$1"));
    }

    private long subscriptionsSoFar() {
        questions++;
        String calls = server.ask(redis -> redis.info("commandstats"));
        return Long.parseLong("0" + calls.replaceAll("(?s).*cmdstat_subscribe:calls=(\\d+).*|.*", "$1"));
    }

    @Test
    void whoLearnsOfAReplicaCallsOnANewConnection() {
        try (LockStore store = open("")) {
            Claim holder = alice.mutex(name);
            assertThat(get(store.tryAcquire(holder))).isInstanceOf(Granted.class);
            assertThat(get(store.renew(List.of(holder))).get(0)).isInstanceOf(Granted.class);
            server.ask(redis -> redis.replicaof("127.0.0.1", 1));
            Set<String> before = connections();
            server.signal("STOP");
            // Its callback runs on the thread that reads the reply: nothing can happen between the two.
            CompletionStage<List<Renewed>> next = store.renew(List.of(holder))
                    .handle((answers, replica) -> {
                        assertThat(replica).hasMessageContaining("replica");
                        return store.renew(List.of(holder));
                    })
                    .thenCompose(again -> again);
            server.signal("CONT");
            failure(next);
            awaitUntil(() -> connections().size() == 2 && !connections().equals(before));
        }
    }

    private Set<String> connections() {
        return server.ask(redis -> redis.clientList()
                .lines()
                .filter(line -> line.contains(" name=holdfast "))
                .map(line -> line.replaceAll("(id=\\d+) .*", "$1"))
                .collect(Collectors.toSet()));
    }

    @Test
    void grantThatNoReplicaAcknowledgesIsUndone() {
        try (LockStore store = open("?replicas=1&replicaTimeout=50ms")) {
            StoreException failure = failure(store.tryAcquire(alice.mutex(name)));
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure).hasMessageContaining("0 of 1 replicas");
            try (RedisServer replica = RedisServer.start("--replicaof", "127.0.0.1", Integer.toString(server.port()))) {
                Attempt again = repaired(() -> get(store.tryAcquire(alice.mutex(name))));
                assertThat(again).isInstanceOf(Granted.class);
                boolean copied = replica.ask(redis -> redis.exists("holdfast:{" + name + "}"));
                assertThat(copied).isTrue();
            }
        }
    }

    @Test
    void wrongPasswordsHostsAndKeysAreReported() {
        server.ask(redis -> redis.set("holdfast:{" + name + "}", "somebody else's"));
        try (LockStore store = open("")) {
            StoreException failure = failure(store.tryAcquire(alice.mutex(name)));
            assertThat(failure.retryable()).isFalse();
            assertThat(failure).hasMessageContaining("another type").hasMessageContaining(name.value());
        }
        assertThatThrownBy(() -> new LettuceLockStoreProvider()
                        .open("redis+lettuce://:wrong@127.0.0.1:" + server.port(), MonotonicClock.SYSTEM))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("asks for no password");
        assertThatThrownBy(
                        () -> new LettuceLockStoreProvider().open("redis+lettuce://127.0.0.1:1", MonotonicClock.SYSTEM))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("Cannot connect");
    }

    private LockStore open(String options) {
        return new LettuceLockStoreProvider().open(LettuceUrl.of(server.url()) + options, MonotonicClock.SYSTEM);
    }

    private static StoreException failed(LockStore store, Claim claim) {
        return failure(store.renew(List.of(claim)));
    }
}
