package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.ClientKillParams;

/** What a store reports and does when its server, or a connection, fails. */
class FaultTest extends WithServer {

    // Some tests start the server again, with its data. With a sync each second, which is the default, the server
    // delays even writes to the file while its disk is busy.
    FaultTest() {
        super("--appendonly", "yes", "--appendfsync", "always");
    }

    @Test
    void scriptFlushInFlightLosesNothing() throws InterruptedException {
        nothingIsLostWhileScriptsAreFlushed(open(""), 600, 5);
    }

    @Test
    void killedConnectionsEndCallsAsUnknownAtMostAndAreReplaced() {
        LockStore store = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        RecordingListener waiter = waiting(store, bob.mutex(name));
        for (ClientType type : List.of(ClientType.NORMAL, ClientType.PUBSUB)) {
            for (int i = 0; i < 3; i++) {
                try (Jedis jedis = server.connect()) {
                    jedis.clientKill(new ClientKillParams().type(type).skipMe(ClientKillParams.SkipMe.YES));
                }
                List<Renewed> answers = repaired(() -> get(store.renew(List.of(holder))));
                assertThat(answers).allMatch(Granted.class::isInstance);
                repaired(() -> get(store.tryAcquire(alice.mutex(new LockName("other")))));
            }
        }
        repaired(() -> get(store.release(holder.again())));
        awaitGrant(waiter);
    }

    @Test
    void refusedHandOverNotifiesNobody() {
        LockStore store = open("?ticketTtl=1m");
        LockStore other = open("?ticketTtl=1m");
        LockName second = new LockName(name + "-2");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        granted(store, alice.mutex(second));
        Claim claim = bob.mutex(name);
        RecordingListener listener = waiting(other, claim);
        Claim mark = bob.mutex(second);
        RecordingListener marked = waiting(other, mark);
        String channel = server.ask(jedis -> jedis.hget("holdfast:{" + name + "}", ">" + claim.id()))
                .split("[ \n]", -1)[5];
        server.ask(jedis -> jedis.configSet("min-replicas-to-write", "1"));
        assertThat(failure(store.release(holder)).effect()).isEqualTo(Effect.NONE);
        // Messages arrive in their order, so this one comes after anything that the release has published.
        server.ask(jedis -> jedis.publish(channel, "ended " + mark.id()));
        awaitUntil(() -> marked.outcome().isPresent());
        assertThat(listener.outcome()).isEmpty();
        server.ask(jedis -> jedis.configSet("min-replicas-to-write", "0"));
        get(store.release(holder));
        awaitGrant(listener);
    }

    /** Each new connection leads to the replica again, and is followed by a refresh that the replica refuses. */
    @Test
    void subscriptionAtAReplicaIsReplacedOnceASecondAtMost() {
        LockStore store = open("?ticketTtl=1m");
        granted(store, alice.mutex(name));
        Claim waiter = bob.mutex(name);
        waiting(store, waiter);
        RedisServer promoted = closing(RedisServer.start());
        promoted.follow(server);
        promoted.ask(Jedis::replicaofNoOne);
        server.follow(promoted);
        int refreshes = 500;
        try (Jedis watching = server.connect()) {
            long start = System.nanoTime();
            long before = connections(watching);
            for (int i = 0; i < refreshes; i++) {
                assertThat(failure(store.renew(List.of(waiter)))).hasMessageContaining("replica");
            }
            long made = connections(watching) - before;
            long replacements = 1 + Duration.ofNanos(System.nanoTime() - start).toSeconds();
            // A refresh needs a new connection after the one before it was refused.
            assertThat(made).isLessThanOrEqualTo(refreshes + 2 * replacements);
        }
    }

    private static long connections(Jedis jedis) {
        return Long.parseLong(jedis.info("stats").replaceAll("(?s).*total_connections_received:(\\d+).*", "$1"));
    }

    @Test
    void claimsWithAnUnknownOutcomeAreRepairedByRepeating() {
        LockStore store = repaired(() -> open("?timeout=300ms"));
        Claim claim = alice.mutex(name);
        Claim warm = bob.mutex(new LockName("warm"));
        repaired(() -> granted(store, warm.again()));
        server.signal("STOP");
        StoreException failure = failure(store.tryAcquire(claim));
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(failure.retryable()).isTrue();
        assertThat(failure).hasMessageContaining("may have been done or not");
        server.signal("CONT");
        repaired(() -> granted(store, claim.again()));
        LockStore patient = open("");
        assertThat(get(patient.release(claim.again())).wasOwner()).isTrue();
        assertThat(get(patient.tryAcquire(claim))).as("a late copy").isInstanceOf(Attempt.Busy.class);
        granted(patient, bob.mutex(name));
    }

    @Test
    void frozenServerEndsEveryCallInTime() {
        LockStore store = repaired(() -> open("?timeout=300ms"));
        Claim claim = alice.mutex(name);
        repaired(() -> granted(store, claim.again()));
        server.signal("STOP");
        long start = System.nanoTime();
        failure(store.renew(List.of(claim)));
        failure(store.release(claim));
        failure(store.inspect(name));
        RecordingListener listener = new RecordingListener();
        store.enqueue(bob.mutex(name), listener);
        assertThat(failure(listener).effect()).as("nothing was sent").isEqualTo(Effect.NONE);
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isLessThan(store.traits().callTimeout().multipliedBy(4));
        server.signal("CONT");
        repaired(() -> get(store.release(claim.again())));
        Claim next = bob.mutex(name);
        awaitUntil(() -> enqueuedAgain(store, next.again())
                .first(RecordingListener.Event.Granted.class)
                .isPresent());
    }

    @Test
    void restartedServerKeepsGrantsQueueAndTokens() {
        LockStore store = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        long counter = granted(store, holder).counter();
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        server.stop();
        assertThat(failure(store.renew(List.of(holder))).retryable()).isTrue();
        StoreException refused = failure(store.tryAcquire(alice.mutex(name)));
        assertThat(refused.retryable()).isTrue();
        server.startAgain();
        List<Renewed> answers = repaired(() -> get(store.renew(List.of(holder, waiter))));
        assertThat(answers.get(0)).isInstanceOf(Granted.class);
        assertThat(((Granted) answers.get(0)).counter()).isEqualTo(counter);
        assertThat(answers.get(1)).isInstanceOf(Renewed.Waiting.class);
        // A restarted server has no subscriptions; the next release comes from another client.
        LockStore other = open("");
        try (Jedis jedis = server.connect()) {
            awaitUntil(() -> !jedis.pubsubChannels().isEmpty());
        }
        get(other.release(holder));
        awaitGrant(listener);
    }

    @Test
    void downServerIsReportedAsDown() {
        LockStore store = open("");
        server.kill();
        failure(store.tryAcquire(alice.mutex(name)));
        StoreException failure = failure(store.tryAcquire(alice.mutex(name)));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isTrue();
        assertThat(failure).hasMessageContaining("Cannot connect").hasMessageContaining("is the server running");
        assertThatThrownBy(() -> open("")).isInstanceOf(StoreException.class).hasMessageContaining("Cannot connect");
    }

    @Test
    void tokensGrowThroughTheLossOfAllData() {
        LockStore store = open("");
        long before = granted(store, alice.mutex(name)).counter();
        try (Jedis jedis = server.connect()) {
            jedis.flushAll();
        }
        assertThat(granted(store, alice.mutex(name)).counter()).isGreaterThan(before);
    }

    @Test
    void keyOfAnotherTypeIsRefusedAndConcernsNoOtherLock() {
        LockStore store = open("");
        Claim neighbour = alice.mutex(new LockName("neighbour"));
        granted(store, neighbour);
        Claim claim = alice.mutex(name);
        try (Jedis jedis = server.connect()) {
            jedis.set("holdfast:{" + name + "}", "somebody else's");
        }
        for (StoreException failure : List.of(
                failure(store.tryAcquire(claim)),
                failure(store.release(claim)),
                failure(store.inspect(name)),
                failure(enqueuedAgain(store, claim)),
                failure(store.tryAcquireAll(List.of(claim, alice.mutex(new LockName("free"))))))) {
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isFalse();
            assertThat(failure).hasMessageContaining("another type").hasMessageContaining(name.value());
        }
        List<Renewed> answers = get(store.renew(List.of(claim, neighbour)));
        assertThat(answers.get(0))
                .isInstanceOfSatisfying(
                        Renewed.Failed.class,
                        failed -> assertThat(failed.cause().effect()).isEqualTo(Effect.NONE));
        assertThat(answers.get(1)).isInstanceOf(Granted.class);
        assertThat(get(store.list("", 100))).containsExactly(neighbour.name());
    }

    /** What a request has done about one name must be complete, although the next one fails. */
    @Test
    void foreignKeyAmongSeveralLeavesTheOthersConsistent() {
        LockStore store = open("");
        Claim holder = alice.claim(name, 1, 2);
        granted(store, holder);
        LockStore other = open("?ticketTtl=1m");
        granted(store, alice.claim(name, 1, 2).withLease(Duration.ofSeconds(2)));
        Claim next = bob.claim(name, 1, 2);
        RecordingListener listener = waiting(other, next);
        LockName foreign = new LockName(name + "-foreign");
        server.ask(jedis -> jedis.set("holdfast:{" + foreign + "}", "somebody else's"));
        pause(2_010);
        StoreException failure = failure(store.tryAcquireAll(List.of(holder.again(), alice.mutex(foreign))));
        assertThat(failure).hasMessageContaining("another type");
        awaitGrant(listener);
        busy(store, alice.claim(name, 1, 2));
    }

    @Test
    void foreignGrantIsRefused() {
        LockStore store = open("");
        Claim claim = alice.mutex(name);
        granted(store, claim);
        try (Jedis jedis = server.connect()) {
            jedis.hset("holdfast:{" + name + "}", claim.id().toString(), "somebody else's");
        }
        StoreException failure = failure(store.release(claim.again()));
        assertThat(failure).hasMessageContaining("somebody else");
        assertThat(failure.retryable()).isFalse();
        assertThat(renewed(store, claim)).isInstanceOf(Renewed.Failed.class);
    }

    @Test
    void serverOutOfMemoryStillRenewsAndReleases() {
        LockStore store = open("");
        Claim holder = alice.mutex(name).withLease(Duration.ofMinutes(1));
        granted(store, holder);
        Claim shared = alice.read(new LockName("shared")).withLease(Duration.ofMinutes(1));
        granted(store, shared);
        granted(store, alice.read(shared.name()));
        try (Jedis jedis = server.connect()) {
            jedis.configSet("maxmemory", "1");
            jedis.configSet("maxmemory-policy", "noeviction");
            StoreException failure = failure(store.tryAcquire(alice.mutex(new LockName("new"))));
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isTrue();
            assertThat(failure).hasMessageContaining("maxmemory");
            List<Renewed> answers = get(store.renew(List.of(holder.withLease(LONG), shared.withLease(LONG))));
            assertThat(answers).allMatch(Granted.class::isInstance);
            assertThat(((Granted) answers.get(0)).lease()).isGreaterThan(Duration.ofMinutes(9));
            assertThat(get(store.release(holder)).wasOwner()).isTrue();
            assertThat(get(store.release(shared)).wasOwner()).isTrue();
        }
    }

    /** What is over is removed, and the tombstones are counted anew, before the release itself. */
    @Test
    void serverOutOfMemoryReleasesBesideTombstones() {
        LockStore store = open("");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        assertThat(released(store, bob.mutex(name).again())).isFalse();
        aGrantMayBeOver();
        server.ask(jedis -> jedis.configSet("maxmemory", "1"));
        assertThat(released(store, holder)).isTrue();
    }

    /** Changes the summary as if it had been written when the first grant had a lease that is over now. */
    private void aGrantMayBeOver() {
        server.ask(jedis -> {
            String key = "holdfast:{" + name + "}";
            String[] summary = jedis.hget(key, "use").split(" ", -1);
            summary[2] = "1";
            return jedis.hset(key, "use", String.join(" ", summary));
        });
    }

    @Test
    void replicaIsReportedAsReplica() {
        LockStore store = open("");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        try (Jedis jedis = server.connect()) {
            jedis.replicaof("127.0.0.1", 1);
            StoreException failure = failure(store.tryAcquire(alice.mutex(new LockName("new"))));
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isTrue();
            assertThat(failure).hasMessageContaining("replica");
            // The replica's data may be outdated, so it does not report an owner.
            for (Claim claim : List.of(holder, alice.mutex(new LockName("unknown")))) {
                failure = failure(store.renew(List.of(claim)));
                assertThat(failure.effect()).isEqualTo(Effect.NONE);
                assertThat(failure).hasMessageContaining("replica");
            }
            awaitUntil(() -> jedis.clientList().lines().noneMatch(line -> line.contains(" name=holdfast ")));
            jedis.replicaofNoOne();
            assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
        }
    }

    @Test
    void serverThatIsBusyWithAnotherScriptIsReported() throws InterruptedException {
        LockStore store = open("");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        try (Jedis jedis = server.connect()) {
            jedis.configSet("lua-time-limit", "1");
            Thread endless = new Thread(() -> {
                try (Jedis other = server.connect()) {
                    other.eval("while true do end");
                } catch (JedisDataException killed) {
                    return;
                }
            });
            endless.start();
            awaitUntil(() -> isBusy(jedis));
            for (CompletionStage<?> call : List.of(
                    store.tryAcquire(alice.mutex(new LockName("new"))),
                    store.release(holder),
                    store.renew(List.of(holder)))) {
                StoreException failure = failure(call);
                assertThat(failure.effect()).isEqualTo(Effect.NONE);
                assertThat(failure.retryable()).isTrue();
                assertThat(failure).hasMessageContaining("SCRIPT KILL");
            }
            jedis.scriptKill();
            endless.join();
        }
        assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
        assertThat(get(store.release(holder.again())).wasOwner()).isTrue();
    }

    private static boolean isBusy(Jedis jedis) {
        try {
            jedis.ping();
            return false;
        } catch (JedisDataException busy) {
            return true;
        }
    }

    @Test
    void loadingServerIsReportedAndKeepsTheLock() {
        LockStore store = open("");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        try (Jedis jedis = server.connect()) {
            jedis.configSet("appendonly", "no");
            // While loading, the server answers only after each 2 MB.
            jedis.configSet("rdbcompression", "no");
            for (int i = 0; i < 200; i++) {
                jedis.set("much-" + i, "x".repeat(100_000));
            }
            jedis.save();
        }
        server.kill();
        server.startAgainUnready("--appendonly", "no", "--key-load-delay", "10000");
        // The earlier connections are gone, and the server may need a moment until it accepts new ones.
        StoreException failure = repairedUntil(store, "LOADING");
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isTrue();
        assertThat(failure).hasMessageContaining("reading its data");
        server.awaitReady();
        assertThat(repaired(() -> get(store.renew(List.of(holder))).get(0))).isInstanceOf(Granted.class);
        assertThat(get(store.release(holder.again())).wasOwner()).isTrue();
    }

    private StoreException repairedUntil(LockStore store, String message) {
        AtomicReference<StoreException> last = new AtomicReference<>();
        awaitUntil(() -> {
            last.set(failure(store.tryAcquire(alice.mutex(new LockName("new")))));
            return String.valueOf(last.get().getMessage()).contains(message);
        });
        return last.get();
    }

    @Test
    void newlyRequiredPasswordIsReportedAndEndsNothing() {
        LockStore store = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        RecordingListener listener = waiting(store, bob.mutex(name));
        try (Jedis jedis = server.connect()) {
            jedis.configSet("requirepass", "secret");
            jedis.auth("secret");
            killAllOthers(jedis);
            for (int i = 0; i < 3; i++) {
                StoreException failure = failure(store.tryAcquire(alice.mutex(new LockName("new-" + i))));
                // A call that was under way when the connection broke has an unknown effect; later calls are
                // refused.
                assertThat(failure.effect()).as("%s", failure).isEqualTo(i == 0 ? failure.effect() : Effect.NONE);
                assertThat(failure).message().contains(i == 0 ? "" : "asks for a password");
            }
            jedis.configSet("requirepass", "");
            assertThat(repaired(() -> get(store.renew(List.of(holder))).get(0))).isInstanceOf(Granted.class);
            awaitUntil(() -> jedis.pubsubChannels().size() == 1);
        }
        LockStore other = open("");
        assertThat(get(other.release(holder.again())).wasOwner()).isTrue();
        awaitGrant(listener);
    }

    private static void killAllOthers(Jedis jedis) {
        for (ClientType type : List.of(ClientType.NORMAL, ClientType.PUBSUB)) {
            jedis.clientKill(new ClientKillParams().type(type).skipMe(ClientKillParams.SkipMe.YES));
        }
    }

    @Test
    void scriptThatFailsIsATypedError() {
        try (RedisServer crippled = started("--rename-command", "HSET", "");
                LockStore store = openUrl(crippled.url())) {
            assertFailsInTheMidst(store, "renamed or disabled");
            try (Jedis jedis = crippled.connect()) {
                assertThat(jedis.keys("*")).as("nothing was written").isEmpty();
            }
        }
        try (Jedis jedis = server.connect()) {
            jedis.aclSetUser("weak", "on", ">secret", "~*", "&*", "+@all", "-hset");
            LockStore store = openUrl("redis://weak:secret@127.0.0.1:" + server.port());
            assertFailsInTheMidst(store, "needs the rights");
            assertThat(jedis.keys("*")).as("nothing was written").isEmpty();
        }
    }

    private void assertFailsInTheMidst(LockStore store, String why) {
        StoreException failure = failure(store.tryAcquire(alice.mutex(name)));
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(failure.retryable()).isTrue();
        assertThat(failure).hasMessageContaining(name.value()).hasMessageContaining(why);
    }

    private static RecordingListener enqueuedAgain(LockStore store, Claim claim) {
        RecordingListener listener = new RecordingListener();
        store.enqueue(claim, listener);
        awaitUntil(listener::wasNotified);
        return listener;
    }
}
