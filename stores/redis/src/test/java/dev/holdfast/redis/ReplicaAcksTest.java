package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A grant that no replica acknowledges is released again, but only by the call that made it. */
class ReplicaAcksTest extends WithServer {

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

    private void keeps(Claim reader, StoreException failure) {
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(holders(open(""), name)).extracting(Claim::id).containsExactly(reader.id());
    }
}
