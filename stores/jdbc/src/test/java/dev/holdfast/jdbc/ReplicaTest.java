package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A primary and a replica that follows it asynchronously; the primary dies and the replica is promoted. */
class ReplicaTest extends Servers {

    private static final String PROCESSES =
            "SELECT string_agg(pid::text, ',') FROM pg_stat_activity WHERE application_name = 'holdfast'";

    private static final String CANCEL = "pg_cancel_backend";

    private final LockName name = new LockName("a");
    private PostgresServer primary;
    private PostgresServer replica;
    private String schema;

    @BeforeEach
    void start() {
        primary = closing(PostgresServer.start());
        schema = primary.newSchema().replaceAll(".*currentSchema=", "");
        replica = closing(primary.startReplica());
    }

    // The replica is first, so that the driver has to find the primary. The driver checks the role of a server again
    // after one second instead of ten.
    private String both() {
        return "jdbc:postgresql://127.0.0.1:" + replica.port() + ",127.0.0.1:" + primary.port()
                + "/postgres?user=holdfast&currentSchema=" + schema
                + "&targetServerType=primary&hostRecheckSeconds=1";
    }

    private void awaitReplay() {
        // What did not wait for the disk is on it after the next transaction that does.
        primary.text("SELECT pg_logical_emit_message(true, 'test', 'all is on the disk')::text");
        String written = primary.text("SELECT pg_current_wal_flush_lsn()::text");
        awaitUntil(() -> replica.text("SELECT (pg_last_wal_replay_lsn() >= '" + written + "')::text")
                .equals("true"));
    }

    @Test
    void aStoreOnAReplicaSaysThatItMayNotWrite() {
        assertThatThrownBy(() -> open(replica.url(schema)))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failure -> assertThat(failure.effect()).isEqualTo(Effect.NONE))
                .hasMessageContaining("cannot be made")
                .hasMessageContaining("targetServerType=primary");
        LockStore right = open(both());
        Claim held = alice.mutex(name);
        granted(right, held);
        awaitReplay();
        LockStore wrong = open(replica.url(schema));
        String before = replica.text(PROCESSES);
        Claim claim = bob.mutex(new LockName("b"));
        refused(failure(wrong.tryAcquire(claim)));
        refused(failure(wrong.tryAcquireAll(List.of(claim, bob.mutex(new LockName("c"))))));
        refused(failure(wrong.release(held)));
        refused(failure(wrong.renew(List.of(held))));
        RecordingListener listener = new RecordingListener();
        wrong.enqueue(bob.mutex(name), listener);
        awaitUntil(listener::wasNotified);
        refused(listener.first(RecordingListener.Event.Failed.class)
                .orElseThrow()
                .cause());
        // It was the primary, perhaps: what the URL leads to now is asked the next time.
        awaitUntil(
                () -> List.of(before.split(",")).stream()
                        .noneMatch(List.of(replica.text(PROCESSES).split(","))::contains),
                "connections are kept");
        assertThat(get(wrong.list("", 10))).as("reading is allowed").containsExactly(name);
        assertThat(renewed(right, held)).isInstanceOf(Granted.class);
    }

    private static void refused(StoreException failure) {
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).as("it may be promoted").isTrue();
        assertThat(failure).hasMessageContaining("read-only").hasMessageContaining("targetServerType=primary");
    }

    @Test
    void whatTheReplicaKnewIsHeldAfterItsPromotion() {
        LockStore store = open(both() + "&holdfast.ticketTtl=10m");
        Claim holder = alice.mutex(name);
        long counter = granted(store, holder).counter();
        RecordingListener listener = waiting(store, bob.mutex(name));
        awaitReplay();
        primary.kill();
        replica.promote();
        assertThat(repaired(() -> renewed(store, holder)))
                .isInstanceOfSatisfying(
                        Granted.class, held -> assertThat(held.counter()).isEqualTo(counter));
        assertThat(get(store.tryAcquire(alice.mutex(name)))).isInstanceOf(Attempt.Busy.class);
        repaired(() -> get(store.release(holder.again())));
        awaitGrant(listener);
        assertThat(listener.first(RecordingListener.Event.Granted.class)
                        .orElseThrow()
                        .counter())
                .isGreaterThan(counter);
    }

    /** Asynchronous replication can lose a grant: then its holder is notified, and tokens grow nevertheless. */
    @Test
    void whatTheReplicaDidNotKnowIsLostAfterItsPromotion() throws Exception {
        LockOptions options = LockOptions.defaults().withLease(Duration.ofSeconds(9));
        try (Holdfast locks = Holdfast.connect(both())) {
            Lease kept = locks.lock("kept", options).acquire();
            AtomicReference<LossReason> keptLost = new AtomicReference<>();
            kept.onLost(keptLost::set);
            long before;
            try (Lease first = locks.lock("lost", options).acquire()) {
                before = first.token();
            }
            awaitReplay();
            replica.stop();
            Lease lost = locks.lock("lost", options).acquire();
            assertThat(lost.token()).isGreaterThan(before);
            AtomicReference<LossReason> why = new AtomicReference<>();
            lost.onLost(why::set);
            primary.kill();
            replica.startAgain();
            replica.promote();
            awaitUntil(() -> why.get() != null);
            assertThat(lost.isValid()).isFalse();
            Lease next = locks.lock("lost", options).acquire(Duration.ofSeconds(60));
            assertThat(next.token()).isGreaterThan(lost.token());
            // Either it was renewed in time, or its holder was notified. If it is valid after this, it was there.
            Optional<ResourceState> state = get(open(both()).inspect(new LockName("kept")));
            if (kept.isValid()) {
                assertThat(state.orElseThrow().holders())
                        .singleElement()
                        .satisfies(holder -> assertThat(holder.counter()).isEqualTo(kept.token() >> 10));
            } else {
                awaitUntil(() -> keptLost.get() != null);
            }
        }
    }

    /** Such a transaction is committed at the primary, as a warning says, and perhaps nowhere else. */
    @Test
    void grantWhoseWaitForTheStandbyIsCancelledIsNotBelieved() {
        LockStore store = open(both());
        primary.commitOnStandbyToo();
        replica.stop();
        Claim claim = alice.mutex(name);
        assertUnknown(endingWaits(CANCEL, () -> store.tryAcquire(claim)));
        // Now the row has it, for all to read.
        assertUnknown(endingWaits(CANCEL, () -> store.tryAcquire(claim.again())));
        assertUnknown(endingWaits(CANCEL, () -> store.tryAcquireAll(List.of(claim.again()))));
        assertUnknown(endingWaits(
                CANCEL,
                () -> store.tryAcquireAll(List.of(alice.mutex(new LockName("b")), alice.mutex(new LockName("c"))))));
        primary.end();
        replica.startAgain();
        replica.promote();
        assertThat(repaired(() -> get(store.tryAcquire(bob.mutex(name))))).isInstanceOf(Granted.class);
    }

    @Test
    void renewalWhoseWaitForTheStandbyIsCancelledIsNotBelieved() {
        LockStore store = open(both());
        Claim claim = alice.mutex(name);
        granted(store, claim);
        primary.commitOnStandbyToo();
        replica.stop();
        assertUnknown(endingWaits(CANCEL, () -> store.renew(List.of(claim))));
    }

    /** There the server sends no warning, if it is not told to. */
    @Test
    void waitThatIsCancelledInASessionWithoutWarningsIsNotBelieved() {
        LockStore store = open(both() + "&options=-c%20client_min_messages=error");
        Claim claim = alice.mutex(name);
        granted(store, claim);
        Claim before = alice.mutex(new LockName("handed over"));
        granted(store, before);
        waiting(store, bob.mutex(before.name()));
        primary.commitOnStandbyToo();
        replica.stop();
        assertUnknown(endingWaits(CANCEL, () -> store.release(before)));
        assertUnknown(endingWaits(CANCEL, () -> store.renew(List.of(claim))));
        assertUnknown(endingWaits(CANCEL, () -> store.tryAcquire(claim.again())));
        assertUnknown(endingWaits(CANCEL, () -> store.tryAcquire(alice.mutex(new LockName("new")))));
        assertUnknown(endingWaits(
                CANCEL,
                () -> store.tryAcquireAll(List.of(alice.mutex(new LockName("b")), alice.mutex(new LockName("c"))))));
    }

    private static void assertUnknown(CompletionStage<?> call) {
        assertThat(failure(call).effect()).isEqualTo(Effect.UNKNOWN);
    }

    // The thread that makes a call may be the one that waits for its answer.
    private <T> CompletionStage<T> endingWaits(String how, Supplier<CompletionStage<T>> call) {
        CompletableFuture<T> answer = CompletableFuture.supplyAsync(call).thenCompose(stage -> stage);
        awaitUntil(() -> primary.isWaitingForStandby() || answer.isDone());
        awaitUntil(() -> {
            primary.endWaitsForStandby(how);
            return answer.isDone();
        });
        return answer;
    }

    @Test
    void waiterDoesNotBelieveInAGrantThatItCanReadBeforeTheStandbyHasIt() {
        LockStore store = open(both());
        LockStore elsewhere = open(both());
        primary.commitOnStandbyToo();
        Claim holder = alice.mutex(name);
        granted(store, holder);
        RecordingListener listener = waiting(elsewhere, bob.mutex(name));
        replica.stop();
        assertUnknown(endingWaits("pg_terminate_backend", () -> store.release(holder)));
        awaitUntil(() -> listener.outcome().isPresent() || primary.isWaitingForStandby());
        assertThat(listener.outcome()).as("the standby does not know of it").isEmpty();
        replica.startAgain();
        awaitGrant(listener);
    }
}
