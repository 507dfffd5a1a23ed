package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
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
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** A grant that no replica acknowledges is released again, but only by the call that made it. */
class ReplicaAcksTest extends WithDouble {

    private final RedisServer replica = closing(started());

    @BeforeEach
    void follow() {
        replica.follow(server);
    }

    @AfterEach
    void thawTheReplica() {
        replica.signal("CONT");
    }

    /** Before, a grant that was extended, or made less than a millisecond ago, was taken for a new one. */
    @Test
    void downgradeOfAnExtendedGrantThatNobodyAcknowledgesReleasesNothing() {
        LockStore store = open("?replicas=1&replicaTimeout=200ms");
        Claim writer = repaired(() -> {
            Claim claim = alice.write(name).withLease(Duration.ofSeconds(30));
            granted(store, claim);
            return claim;
        });
        assertThat(repaired(() -> renewed(store, writer.withLease(Duration.ofHours(1)))))
                .isInstanceOf(Granted.class);
        replica.signal("STOP");
        Claim reader = writer.again().withPermits(1);
        RecordingListener listener = new RecordingListener();
        keeps(reader, failure(store.tryAcquire(reader)));
        keeps(reader, failure(store.tryAcquireAll(List.of(reader))));
        keeps(reader, failure(store.tryAcquireAsNode(reader, 1, false)));
        store.enqueue(reader, listener);
        keeps(reader, failure(listener));
    }

    /** Its request was done and its answer was lost: what the repeated one finds is no more than what one server has. */
    @Test
    void grantThatARepeatedRequestFindsIsNotBelievedBeforeTheReplicaHasIt() {
        LockStore store = open("?replicas=1&replicaTimeout=200ms");
        LockStore without = open("");
        repaired(() -> renewed(store, alice.mutex(name)));
        replica.signal("STOP");
        Claim claim = alice.mutex(name).withLease(Duration.ofSeconds(30));
        granted(without, claim);
        Claim again = claim.again();
        keeps(again, failure(store.tryAcquire(again)));
        keeps(again, failure(store.tryAcquireAll(List.of(again))));
        keeps(again, failure(store.tryAcquireAsNode(again, 1, false)));
        RecordingListener listener = new RecordingListener();
        store.enqueue(again, listener);
        keeps(again, failure(listener));
        assertThat(renewed(store, again)).isInstanceOf(Renewed.Failed.class);
    }

    /** Before, the repetition left a tombstone, which refused the claim for a whole lease wherever it was sent once more. */
    @Test
    void repetitionThatNobodyAcknowledgesMayBeRepeated() {
        LockStore store = open("?replicas=1&replicaTimeout=200ms");
        Claim claim = repaired(() -> {
            granted(store, alice.mutex(name));
            return bob.mutex(new LockName(name + "-2")).again();
        });
        RecordingListener listener = new RecordingListener();
        replica.signal("STOP");
        leavesNothing(failure(store.tryAcquire(claim)));
        leavesNothing(failure(store.tryAcquireAll(List.of(claim))));
        leavesNothing(failure(store.tryAcquireAsNode(claim, 1, false)));
        store.enqueue(claim, listener);
        leavesNothing(failure(listener));
        replica.signal("CONT");
        repaired(() -> granted(store, claim));
    }

    /** As after a fail-over: the server that is asked to release the grant has never had it. */
    @Test
    void grantThatIsLostBeforeItIsReleasedMayBeRepeated() {
        LockStore store = open("?replicas=1&replicaTimeout=1s");
        Claim claim = repaired(() -> {
            granted(store, alice.mutex(name));
            return bob.mutex(new LockName(name + "-2"));
        });
        replica.signal("STOP");
        var attempt = CompletableFuture.supplyAsync(() -> failure(store.tryAcquire(claim)));
        try (Jedis jedis = server.connect()) {
            awaitUntil(() -> jedis.dbSize() == 2);
            jedis.flushAll();
        }
        leavesNothing(attempt.join());
        replica.signal("CONT");
        repaired(() -> granted(store, claim));
    }

    /** Its answer is lost. Before, the claim could be granted anew and believed, and the late release ended that grant. */
    @Test
    void claimWhoseReleaseMayArriveLateIsNotGrantedAgain() {
        LockStore store = openUrl("redis://" + commands.address() + "?replicas=1&replicaTimeout=200ms");
        Claim claim = repaired(() -> {
            granted(store, alice.mutex(name));
            return bob.mutex(new LockName(name + "-2"));
        });
        // Of the scripts the server knows that of the acquisition only, so that the release is sent with its text.
        server.ask(Jedis::scriptFlush);
        granted(open(""), alice.mutex(new LockName(name + "-4")));
        replica.signal("STOP");
        commands.keepBack("EVAL");
        assertThat(failure(store.tryAcquire(claim)).effect()).isEqualTo(Effect.UNKNOWN);
        replica.signal("CONT");
        repaired(() -> granted(store, alice.mutex(new LockName(name + "-3"))));
        Claim again = claim.again();
        RecordingListener listener = new RecordingListener();
        assertThat(get(store.tryAcquire(again))).isInstanceOf(Attempt.Busy.class);
        assertThat(get(store.tryAcquireAll(List.of(again)))).singleElement().isInstanceOf(Attempt.Busy.class);
        assertThat(failure(store.tryAcquireAsNode(again, 1, false)).retryable()).isTrue();
        store.enqueue(again, listener);
        assertThat(listener.outcome()).containsInstanceOf(RecordingListener.Event.Ended.class);
        assertThat(holders(open(""), claim.name())).extracting(Claim::id).containsExactly(claim.id());
        commands.deliver();
        awaitUntil(() -> holders(open(""), claim.name()).isEmpty());
    }

    @Test
    void tryLockWhoseFirstRequestIsLostIsRepeatedUntilTheReplicaAcknowledges() throws InterruptedException {
        try (Holdfast locks = Holdfast.connect("redis://" + commands.address() + "?replicas=1&replicaTimeout=200ms")) {
            locks.lock(name + "-warm").acquire().close();
            replica.signal("STOP");
            commands.reset();
            commands.keepBack("EVALSHA");
            var attempt =
                    CompletableFuture.supplyAsync(() -> locks.lock(name.value()).tryLock());
            // The lost one, its repetition, and the release of what that was granted.
            awaitUntil(() -> commands.counts().getOrDefault("EVALSHA", 0) >= 3);
            replica.signal("CONT");
            assertThat(attempt.join()).isTrue();
        }
    }

    private static void leavesNothing(StoreException failure) {
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure).hasMessageContaining("it was released again");
    }

    private void keeps(Claim reader, StoreException failure) {
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(holders(open(""), name)).extracting(Claim::id).containsExactly(reader.id());
    }
}
