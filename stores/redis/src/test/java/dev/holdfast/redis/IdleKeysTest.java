package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** Keys that are no longer used expire, and keys in use do not. */
class IdleKeysTest extends WithServer {

    private static final int NAMES = 2_000;

    /** Longer than a slow machine takes between two renewals. */
    private static final Duration A_WHILE = Duration.ofSeconds(4);

    @Test
    void recordsOfIdleLocksGo() {
        LockStore store = open("?ticketTtl=100ms&keep=1s");
        int seen = 0;
        int crowds = 0;
        try (Jedis jedis = server.connect()) {
            for (int i = 0; i < NAMES; i++) {
                Claim claim = alice.mutex(new LockName(name + "-" + i)).withLease(Duration.ofMillis(100));
                granted(store, claim);
                if (i % 3 == 0) {
                    get(store.release(claim));
                } else if (i % 3 == 1) {
                    get(store.release(claim.again()));
                }
                seen += seenToExpire(jedis, claim.name());
            }
            for (int i = 0; i < NAMES / 10; i++) {
                LockName crowded = new LockName(name + "-crowded-" + i);
                granted(store, alice.read(crowded).withLease(Duration.ofMillis(500)));
                // Who comes when the leases or the tickets of those before are over is granted. So these may be, on a
                // slow machine; their records must go all the same.
                enqueued(store, bob.write(crowded).withLease(Duration.ofMillis(100)));
                enqueued(store, bob.read(crowded).withLease(Duration.ofMillis(100)));
                crowds += jedis.hexists("holdfast:{" + crowded + "}", "queue") ? 1 : 0;
                seen += seenToExpire(jedis, crowded);
            }
            assertThat(crowds).as("records with a queue").isPositive();
            assertThat(seen).isGreaterThan(NAMES);
            pause(3_600);
            assertThat(jedis.keys("*")).isEmpty();
        }
    }

    // Looked at as soon as it is written: on a slow machine the first ones are gone before the last ones are there.
    private static int seenToExpire(Jedis jedis, LockName name) {
        String key = "holdfast:{" + name + "}";
        // -1 stands for a key without an expiry; -2 and 0 for one that is just expiring.
        long left = jedis.pttl(key);
        assertThat(left).as(key).isNotEqualTo(-1L).isLessThanOrEqualTo(3_500L);
        return left > 0 ? 1 : 0;
    }

    /** For longer than one that is not used any more. */
    @Test
    void recordsInUseStayForAsLongAsTheyAreUsed() {
        LockStore store = open("?ticketTtl=100ms&keep=1s");
        Claim holder = alice.mutex(name).withLease(Duration.ofMinutes(1));
        granted(store, holder);
        Claim buried = alice.mutex(new LockName(name + "-buried")).withLease(Duration.ofMinutes(1));
        get(store.release(buried));
        Claim idle = alice.mutex(new LockName(name + "-idle")).withLease(A_WHILE);
        granted(store, idle);
        Claim renewed = alice.mutex(new LockName(name + "-renewed")).withLease(A_WHILE);
        long counter = granted(store, renewed).counter();
        Claim waiter = bob.mutex(name);
        waiting(store, waiter);
        try (Jedis jedis = server.connect()) {
            awaitUntil(() -> {
                assertThat(((Granted) renewed(store, renewed)).counter()).isEqualTo(counter);
                renewed(store, waiter); // its ticket is over soon if the machine is slow; the holder's lease is not
                return !jedis.exists("holdfast:{" + idle.name() + "}");
            });
        }
        assertThat(((Granted) renewed(store, renewed)).counter()).isEqualTo(counter);
        assertThat(get(store.tryAcquire(buried))).as("still refused").isInstanceOf(Attempt.Busy.class);
        assertThat(released(store, holder)).isTrue();
    }

    /** Nobody holds a wait set: its record stays for the sake of who waits there. */
    @Test
    void recordStaysForAsLongAsSomebodyWaits() {
        LockStore store = open("?ticketTtl=1m&keep=10m");
        Claim waiter = alice.claim(name, 1, 0);
        waiting(store, waiter);
        String key = "holdfast:{" + name + "}";
        // As if its time had passed but for the last minute.
        server.ask(jedis -> jedis.hset(key, "kept", "1"));
        server.ask(jedis -> jedis.pexpire(key, 60_000));
        assertThat(renewed(store, waiter)).isInstanceOf(Renewed.Waiting.class);
        assertThat(Duration.ofMillis(server.ask(jedis -> jedis.pttl(key)))).isGreaterThan(Duration.ofMinutes(9));
    }

    /** A record from the future is what is left when the server's clock was set back. */
    @Test
    void tokensGrowAlthoughTheClockWasSetBack() {
        LockStore store = open("?ticketTtl=1m");
        Claim former = alice.mutex(name);
        long last = granted(store, former).counter() + TimeUnit.HOURS.toMicros(1);
        get(store.release(former));
        server.ask(jedis -> jedis.hset("holdfast:{" + name + "}", "counter", Long.toString(last)));
        Claim holder = alice.mutex(name);
        assertThat(granted(store, holder).counter()).isEqualTo(last + 1);
        RecordingListener next = waiting(store, bob.mutex(name));
        get(store.release(holder));
        assertThat(awaitGrant(next).counter()).isEqualTo(last + 2);
    }

    @Test
    void tokensOfASharedLockGrowAlthoughTheClockWasSetBack() {
        LockStore store = open("");
        Claim first = alice.claim(name, 1, 3);
        long last = granted(store, first).counter() + TimeUnit.HOURS.toMicros(1);
        server.ask(jedis -> jedis.hset("holdfast:{" + name + "}", "counter", Long.toString(last)));
        assertThat(granted(store, bob.claim(name, 1, 3)).counter()).isEqualTo(last + 1);
        assertThat(granted(store, bob.claim(name, 1, 3)).counter()).isEqualTo(last + 2);
    }

    @Test
    void defaultIsAnHourAtLeastAndTwoAtMost() {
        LockStore store = open("");
        Claim claim = alice.mutex(name);
        granted(store, claim);
        get(store.release(claim));
        try (Jedis jedis = server.connect()) {
            Duration left = Duration.ofMillis(jedis.pttl("holdfast:{" + name + "}"));
            assertThat(left).isBetween(Duration.ofHours(1), Duration.ofHours(2).plus(LONG));
        }
    }

    @Test
    void queueIsBoundedAndItsOverflowIsRefused() {
        LockStore store = open("?ticketTtl=5m");
        granted(store, alice.mutex(name));
        for (int i = 0; i < LockStore.MAX_QUEUE; i++) {
            store.enqueue(bob.mutex(name), new RecordingListener());
        }
        RecordingListener listener = new RecordingListener();
        store.enqueue(bob.mutex(name), listener);
        assertThat(failure(listener).retryable()).isFalse();
        assertThat(get(store.inspect(name)).orElseThrow().waiters()).hasSize(LockStore.MAX_QUEUE);
    }

    @Test
    void aQueueWhoseTicketsAllRanOutIsClearedAtOnce() {
        LockStore store = open("?ticketTtl=4s");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        List<RecordingListener> listeners = new ArrayList<>();
        for (int i = 0; i < 3_000; i++) {
            RecordingListener listener = new RecordingListener();
            listeners.add(listener);
            store.enqueue(bob.mutex(name), listener);
        }
        awaitUntil(() -> listeners.stream().allMatch(RecordingListener::wasNotified));
        pause(4_100);
        get(store.release(holder));
        // The record is read as it is: an inspection leaves out what is over.
        Set<String> fields = server.ask(jedis -> jedis.hkeys("holdfast:{" + name + "}"));
        assertThat(fields).noneMatch(field -> field.startsWith(">") || field.startsWith("@"));
    }
}
