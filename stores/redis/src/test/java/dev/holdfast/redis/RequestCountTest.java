package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.SignalCost;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisMonitor;

/** The number of requests and commands, by the server's own counters. */
class RequestCountTest extends WithServer {

    private Jedis jedis;

    @BeforeEach
    void connect() {
        jedis = server.connect();
    }

    @AfterEach
    void disconnect() {
        jedis.close();
    }

    @Test
    void acquireAndReleaseOfAFreeLockAreTwoRequestsOfSixCommands() {
        LockStore store = open("");
        get(store.release(claimed(store)));
        jedis.configResetStat();
        get(store.release(claimed(store)));
        Map<String, Long> calls = ownCalls();
        assertThat(calls)
                .containsExactlyInAnyOrderEntriesOf(
                        Map.of("evalsha", 2L, "hmget", 1L, "hget", 1L, "time", 2L, "hset", 1L, "hdel", 1L));
    }

    @Test
    void monitorShowsTwoRequestsForLockAndUnlock() throws InterruptedException {
        try (Holdfast locks = Holdfast.connect(server.url());
                Jedis watching = server.connect()) {
            DistributedLock lock = locks.lock(name.value());
            lock.lock();
            lock.unlock();
            BlockingQueue<String> lines = new LinkedBlockingQueue<>();
            Thread monitor = new Thread(() -> watching.monitor(new JedisMonitor() {
                @Override
                public void onCommand(String line) {
                    lines.add(line);
                    if (line.contains("\"after\"")) {
                        watching.disconnect();
                    }
                }
            }));
            monitor.setDaemon(true);
            monitor.start();
            awaitUntil(() -> !jedis.echo("before").isEmpty() && !lines.isEmpty());
            lock.lock();
            lock.unlock();
            jedis.echo("after");
            monitor.join();
            List<String> requests = lines.stream()
                    .filter(line -> !line.contains(" lua] ") && !line.contains("\"ECHO\""))
                    .toList();
            assertThat(requests).hasSize(2).allMatch(line -> line.contains("\"EVALSHA\""));
            assertThat(lines).as("what the scripts do is shown, too").anyMatch(line -> line.contains(" lua] "));
        }
    }

    /** As an attempt at a busy lock is what spinning waiters repeat. */
    @Test
    void attemptAtABusyLockIsOneRequestOfThreeCommandsThatWritesNothing() {
        LockStore store = open("");
        claimed(store);
        busy(store, bob.mutex(name));
        jedis.configResetStat();
        busy(store, bob.mutex(name));
        assertThat(ownCalls())
                .containsExactlyInAnyOrderEntriesOf(Map.of("evalsha", 1L, "hmget", 1L, "hexists", 1L, "time", 1L));
    }

    /** A client that has never waited has no channel to which others could publish a grant. */
    @Test
    void onlyAClientThatHasWaitedSendsTheNameOfItsChannel() {
        LockStore store = open("");
        Claim first = alice.mutex(name);
        granted(store, first);
        get(store.release(first));
        long acquire = bytes(() -> granted(store, first.again()));
        long release = bytes(() -> get(store.release(first.again())));
        LockName busy = new LockName(name + "-busy");
        granted(store, alice.mutex(busy));
        waiting(store, bob.mutex(busy));
        int channel = jedis.pubsubChannels().get(0).length();
        // In place of "-".
        assertThat(bytes(() -> get(store.tryAcquire(first.again())))).isEqualTo(acquire + channel - 1);
        assertThat(bytes(() -> get(store.release(first.again())))).isEqualTo(release + channel - 1);
        System.out.println("bytes: acquire " + acquire + ", release " + release + ", name "
                + name.value().length() + ", channel " + channel + ", owner " + first.owner());
    }

    /** What the server reads for a request; the least of a few, as others may be sent at the same time. */
    private long bytes(Runnable request) {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            long begun = bytesRead();
            long ofTheCount = bytesRead() - begun;
            request.run();
            least = Math.min(least, bytesRead() - begun - 2 * ofTheCount);
        }
        return least;
    }

    private long bytesRead() {
        return jedis.info("stats")
                .lines()
                .filter(line -> line.startsWith("total_net_input_bytes:"))
                .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1)))
                .sum();
    }

    @Test
    void enqueueOnAFreeLockIsOneRequest() {
        LockStore store = open("");
        get(store.release(claimed(store)));
        Claim first = alice.mutex(name);
        awaitGrant(enqueued(store, first));
        get(store.release(first));
        jedis.configResetStat();
        awaitGrant(enqueued(store, alice.mutex(name)));
        assertThat(ownCalls()).containsEntry("evalsha", 1L).doesNotContainKey("subscribe");
    }

    @Test
    void firstWaitOfAClientIsTwoRequestsAndASubscriptionAndTheNextOneIsOneRequest() {
        LockStore store = open("");
        LockStore other = open("");
        Claim second = alice.mutex(new LockName(name + "-2"));
        granted(other, alice.mutex(name));
        granted(other, second);
        waiting(other, alice.mutex(name)); // so that the server knows every script
        jedis.configResetStat();
        waiting(store, bob.mutex(name));
        assertThat(ownCalls()).containsEntry("evalsha", 2L).containsEntry("subscribe", 1L);
        jedis.configResetStat();
        waiting(store, bob.mutex(second.name()));
        assertThat(ownCalls()).containsEntry("evalsha", 1L).doesNotContainKey("subscribe");
    }

    @Test
    void renewalOfAThousandLocksIsFourScriptCallsWithTwoCommandsALock() {
        LockStore store = open("");
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            claims.add(alice.mutex(new LockName(name + "-" + i)));
            granted(store, claims.get(i));
        }
        assertThat(get(store.renew(claims))).allMatch(Granted.class::isInstance);
        jedis.configResetStat();
        assertThat(get(store.renew(claims))).hasSize(1_000).allMatch(Granted.class::isInstance);
        assertThat(ownCalls())
                .containsExactlyInAnyOrderEntriesOf(
                        Map.of("evalsha", 4L, "hmget", 1_000L, "hset", 1_000L, "time", 4L, "hdel", 4L));
    }

    /** Newer servers count acknowledgements of replicas from the last write of a connection. */
    @Test
    void repeatedRequestsWriteWhatIsToBeAcknowledged() {
        LockStore store = open("");
        Claim several = alice.mutex(new LockName(name + "-2"));
        Claim holder = claimed(store);
        assertThat(get(store.tryAcquireAll(List.of(several)))).hasOnlyElementsOfType(Granted.class);
        jedis.configResetStat();
        granted(store, holder.again());
        assertThat(ownCalls()).containsEntry("hset", 1L);
        assertThat(get(store.tryAcquireAll(List.of(several.again())))).hasOnlyElementsOfType(Granted.class);
        assertThat(ownCalls()).containsEntry("hset", 2L);
        enqueued(store, holder.again());
        assertThat(ownCalls().get("hset")).isGreaterThan(2L);
    }

    @Test
    void nothingIsPublishedWhenNoOtherClientWaits() {
        LockStore store = open("");
        Claim holder = claimed(store);
        RecordingListener local = waiting(store, bob.mutex(name));
        jedis.configResetStat();
        get(store.release(holder));
        awaitGrant(local);
        assertThat(ownCalls()).doesNotContainKey("publish");
        assertThat(jedis.pubsubChannels()).hasSize(1);
    }

    @Test
    void oneSubscriptionServesAllLocks() {
        LockStore store = open("");
        for (int i = 0; i < 20; i++) {
            LockName other = new LockName(name + "-" + i);
            granted(store, alice.mutex(other));
            waiting(store, bob.mutex(other));
        }
        assertThat(ownCalls()).containsEntry("subscribe", 1L);
    }

    @Test
    void handOverCostsTwoRequestsAndAFixedNumberOfCommandsWhateverTheCrowd() {
        // Positions are counted up to a bound, so the crowds are larger than that.
        Map<String, Long> few = handOver(Renewed.Waiting.FAR + 2);
        Map<String, Long> some = handOver(16);
        Map<String, Long> many = handOver(64);
        assertThat(few).containsEntry("evalsha", 2L * HAND_OVERS).containsEntry("publish", (long) HAND_OVERS);
        assertThat(some).isEqualTo(few);
        assertThat(many).isEqualTo(few);
    }

    @Test
    void releaseThatHandsAMutexOverIsEightCommands() {
        LockStore store = open("");
        get(store.release(claimed(store)));
        Claim holder = claimed(store);
        LockStore other = open("");
        RecordingListener next = waiting(other, bob.mutex(name));
        waiting(other, bob.mutex(name));
        jedis.configResetStat();
        get(store.release(holder));
        awaitGrant(next);
        Map<String, Long> calls = ownCalls();
        assertThat(calls.remove("evalsha")).isEqualTo(1);
        assertThat(calls)
                .containsExactlyInAnyOrderEntriesOf(Map.of(
                        "hget",
                        1L,
                        "hmget",
                        2L,
                        "time",
                        1L,
                        "pubsub|numsub",
                        1L,
                        "publish",
                        1L,
                        "hdel",
                        1L,
                        "hset",
                        1L));
    }

    @Test
    void signalIsTwoRequestsAndAFixedNumberOfCommandsWhateverTheCrowd() {
        signals().ofSignals(name + "-first", SignalCost.FEW); // so that the server knows every script
        Map<String, Long> few = signals().ofSignals(name + "-few", SignalCost.FEW);
        Map<String, Long> many = signals().ofSignals(name + "-many", SignalCost.MANY);
        assertThat(few).containsEntry("evalsha", 2L * SignalCost.SIGNALS);
        assertThat(many).isEqualTo(few);
        Map<String, Long> all = signals().ofSignalAll(name + "-all", SignalCost.MANY);
        assertThat(all).containsEntry("evalsha", 1L + SignalCost.MANY);
    }

    private SignalCost<Map<String, Long>> signals() {
        return new SignalCost<>(open(""), open("?ticketTtl=1m"), jedis::configResetStat, this::ownCalls);
    }

    private static final int HAND_OVERS = 100;

    // Each of the clients holds the lock for a moment and then waits for it again.
    private Map<String, Long> handOver(int clients) {
        LockName contended = new LockName(name + "-" + clients);
        List<LockStore> stores = new ArrayList<>();
        List<Claim> claims = new ArrayList<>();
        List<RecordingListener> listeners = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            stores.add(open("?ticketTtl=1m"));
            claims.add(alice.mutex(contended));
            listeners.add(enqueued(stores.get(i), claims.get(i)));
        }
        // One round first, so that the server knows every script.
        int at = 0;
        for (int i = 0; i < clients; i++) {
            at = handOver(stores, claims, listeners, at);
        }
        jedis.configResetStat();
        for (int i = 0; i < HAND_OVERS; i++) {
            at = handOver(stores, claims, listeners, at);
        }
        Map<String, Long> calls = ownCalls();
        stores.forEach(LockStore::close);
        return calls;
    }

    private int handOver(List<LockStore> stores, List<Claim> claims, List<RecordingListener> listeners, int holder) {
        awaitGrant(listeners.get(holder));
        get(stores.get(holder).release(claims.get(holder)));
        claims.set(holder, alice.mutex(claims.get(holder).name()));
        int next = (holder + 1) % stores.size();
        awaitGrant(listeners.get(next));
        listeners.set(holder, waiting(stores.get(holder), claims.get(holder)));
        return next;
    }

    private Claim claimed(LockStore store) {
        Claim claim = alice.mutex(name);
        granted(store, claim);
        return claim;
    }

    // Leaves out the commands of this test itself, and the probes of subscriptions.
    private Map<String, Long> ownCalls() {
        Map<String, Long> calls = new HashMap<>(RedisServer.calls(jedis));
        calls.keySet().removeIf(command -> command.startsWith("config") || command.equals("info"));
        calls.remove("ping");
        return calls;
    }
}
