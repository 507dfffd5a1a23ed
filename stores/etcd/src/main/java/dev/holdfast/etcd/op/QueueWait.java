package dev.holdfast.etcd.op;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.op.QueueReader.Seen;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.EtcdErrors;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import dev.holdfast.etcd.session.Session;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.TimeLimit;
import dev.holdfast.store.sequenced.SequencedQueue;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Enqueues a claim, and waits for the one earlier claim that blocks it.
 *
 * <p>A waiter remembers the queue as it was read when the waiter joined it, and removes the claims that events
 * report as gone. If the waiter is then admitted, it is granted without another read (see {@link AdmissionQueue}
 * for why that is safe). If the claim that it watched is gone and it is not admitted, it reads the queue and
 * watches the next one. It watches its own key too: a waiter whose key is gone never holds (etcd-io/etcd#11456). The
 * end of a session deletes all its keys in one revision, whose events come in any order. So a waiter behind a claim of
 * its own session reads the queue before it holds.
 */
public final class QueueWait {

    /** The time after a failed read of the queue, or a closed watch, until the next read. It doubles each time. */
    private static final long READ_AGAIN_NANOS = 50_000_000;

    /** How often that time doubles at most. A watch that has started resets it. */
    private static final int MAX_DOUBLINGS = 4;

    /** How often a claim's value is written at most, if others write it at the same time. */
    private static final int MAX_REWRITES = 3;

    /** How many more slots are tried at most when keys of older claims are left in the slots. */
    private static final int MAX_SLOTS = 3;

    /** A queue of at most so many claims is read with the request that changes it. */
    public static final int SHORT_QUEUE = 32;

    /** The same for the request that joins it: a claim that waits among so many is placed without another one. */
    private static final int SHORT_QUEUE_TO_JOIN = 70;

    private static final CompletionStage<Void> DONE = CompletableFuture.completedStage(null);

    private final EtcdClient client;
    private final QueueReader reader;
    private final Session session;
    private final ClaimTable claimTable;
    private final MonotonicClock clock;
    private final Duration ticketTtl;
    private final CallLimit callLimit;
    private final FarWaiters farWaiters;
    private final MissedEvents missedEvents;
    private Runnable sweepRequest = () -> {};
    private ObjLongConsumer<ClaimState> whenHolderEnded = (state, created) -> {};

    public QueueWait(
            EtcdClient client,
            QueueReader reader,
            Session session,
            ClaimTable claimTable,
            MonotonicClock clock,
            Duration ticketTtl,
            CallLimit callLimit) {
        this.client = client;
        this.reader = reader;
        this.session = session;
        this.claimTable = claimTable;
        this.clock = clock;
        this.ticketTtl = ticketTtl;
        this.callLimit = callLimit;
        this.farWaiters = new FarWaiters(reader, this::farQueueRead);
        this.missedEvents = new MissedEvents(client, claimTable, this::readQueue);
    }

    /** Sets the listener that is called when a key may have been left behind. */
    public void whenSweepNeeded(Runnable listener) {
        sweepRequest = listener;
    }

    /** Sets the listener that is called if the key of a claim has ended that holds by now, with its create revision. */
    void whenHolderEnded(ObjLongConsumer<ClaimState> listener) {
        whenHolderEnded = listener;
    }

    public void enqueue(Claim claim, ClaimListener listener) {
        ClaimState state = claimTable.begin(claim, listener);
        TimeLimit.Call call = callLimit.begin(late -> claimTable.late(state, late));
        session.with(life -> queueUp(state, claim, life)).whenComplete((done, failure) -> {
            call.end();
            if (failure != null) {
                StoreException cause = EtcdErrors.of(failure, true, client.toString());
                session.failed(cause);
                claimTable.failed(state, cause);
            }
        });
    }

    // A claim that was sent before, but not with this lease, may have a key that this client does not know.
    private CompletionStage<Void> queueUp(ClaimState state, Claim claim, Session.Life life) {
        boolean known = state.session == life.lease() && !state.key.isEmpty();
        if (!claim.repeated() || known) {
            return put(state, claim, life, MAX_SLOTS);
        }
        long sentAt = clock.nanoTime();
        return reader.readAll(state.queue).thenCompose(seen -> {
            int index = seen.queue().indexOf(claim.id());
            return index < 0 ? put(state, claim, life, MAX_SLOTS) : found(state, claim, life, sentAt, false, seen);
        });
    }

    private CompletionStage<Void> put(ClaimState state, Claim claim, Session.Life life, int slotsLeft) {
        long sentAt = clock.nanoTime();
        long now = clock.epochMicros();
        state.since = state.since == 0 ? now : state.since;
        ByteString key = claimTable.key(state, life.lease());
        return client.txn(request(state, key, claim, now, life.lease()), true).thenCompose(answer -> {
            if (answer.getSucceeded()) {
                long revision = answer.getHeader().getRevision();
                QueueEntry own = QueueEntry.put(key, claim, now, revision, life.lease());
                return placed(
                        state, claim, life, sentAt, own, answer.getResponses(0).getResponseRange());
            }
            RangeResponse inSlot = answer.getResponses(0).getResponseRange();
            QueueEntry own = inSlot.getCount() == 0 ? null : QueueEntry.of(state.queue, inSlot.getKvs(0));
            if (own != null && own.id().equals(claim.id())) {
                return reader.readAll(state.queue).thenCompose(seen -> found(state, claim, life, sentAt, false, seen));
            }
            if (answer.getResponses(1).getResponseRange().getCount() > 0 || slotsLeft == 0) {
                claimTable.gone(state, Reason.RELEASED);
                return DONE;
            }
            // A key of this client is left in the slot; the sweep finds it.
            sweepRequest.run();
            claimTable.leaveSlot(state);
            return put(state, claim, life, slotsLeft - 1);
        });
    }

    // The queue is read before the key is put, so a free lock is answered with no key at all.
    private TxnRequest request(ClaimState state, ByteString key, Claim claim, long now, long lease) {
        return TxnRequest.newBuilder()
                .addCompare(Txns.absent(state.tombstone))
                .addCompare(Txns.absent(key))
                .addSuccess(Txns.some(state.queue, SHORT_QUEUE_TO_JOIN))
                .addSuccess(Txns.put(key, QueueEntry.value(claim, now), lease))
                .addFailure(Txns.get(key))
                .addFailure(Txns.getKey(state.tombstone))
                .build();
    }

    // The answer has all of a short queue, and some of a long one. If that shows that the claim waits far
    // behind, it finds out later what to watch. Else the end is read, by all claims together that joined it
    // meanwhile. If that fails, the claim is in the queue all the same.
    private CompletionStage<Void> placed(
            ClaimState state, Claim claim, Session.Life life, long sentAt, QueueEntry own, RangeResponse before) {
        AdmissionQueue queue = AdmissionQueue.joined(state.queue, before.getKvsList(), !before.getMore(), own);
        if (!before.getMore()) {
            return found(state, claim, life, sentAt, true, new Seen(queue, own.created()));
        }
        int index = queue.entries().size() - 1;
        long length = before.getCount() + 1;
        if (length <= LockStore.MAX_QUEUE && !queue.isOfAnotherKind(index) && queue.isCertain(index)) {
            waitsFar(state, own, sentAt, queue.position(index), length);
            return DONE;
        }
        claimTable.change(then -> {
            if (claimTable.has(state)) {
                claimTable.keyFound(state, own);
            }
        });
        CompletionStage<Seen> read =
                length > LockStore.MAX_QUEUE ? reader.readAll(state.queue) : reader.readFor(state.queue, own.created());
        return read.exceptionallyCompose(failure -> CompletableFuture.failedStage(StoreException.unavailable(
                        Effect.UNKNOWN, "The claim is in the queue, which could not be read", failure)))
                .thenCompose(seen -> found(state, claim, life, sentAt, true, seen));
    }

    private void waitsFar(ClaimState state, QueueEntry own, long sentAt, int position, long length) {
        claimTable.change(then -> {
            if (!claimTable.has(state) || state.phase == ClaimState.Phase.HELD) {
                return;
            }
            claimTable.keyFound(state, own);
            claimTable.waits(state, null, sentAt);
            ClaimListener listener = state.listener;
            if (listener != null) {
                then.add(() -> listener.waiting(position, Duration.ZERO));
            }
            then.add(() -> farWaiters.add(state, own.created(), length));
        });
    }

    private void farQueueRead(ClaimState state, @Nullable Seen seen) {
        claimTable.change(then -> {
            if (!claimTable.has(state) || state.phase != ClaimState.Phase.WAITING) {
                return;
            }
            int index = seen == null ? -1 : seen.queue().indexOf(state.claim.id());
            if (seen == null) {
                readQueueSoon(state);
            } else if (index >= 0 && seen.queue().isCertain(index)) {
                queueSeen(state, seen, then);
            } else {
                then.add(() -> readQueue(state));
            }
        });
    }

    private CompletionStage<Void> found(
            ClaimState state, Claim claim, Session.Life life, long sentAt, boolean put, Seen seen) {
        AdmissionQueue queue = seen.queue();
        int index = queue.indexOf(claim.id());
        if (index < 0) {
            claimTable.gone(state, Reason.RELEASED);
            return DONE;
        }
        QueueEntry own = queue.entries().get(index);
        if (put && queue.isOfAnotherKind(index)) {
            return undo(state, own, new KindConflictException(claim.name(), claim.limit(), queue.limit()));
        }
        if (put && queue.isFull(index)) {
            return undo(state, own, SequencedQueue.full(claim.name()));
        }
        if (queue.isAdmitted(index) && own.session() == life.lease()) {
            admitted(state, own, life.leftAt(sentAt));
            return DONE;
        }
        if (queue.isAdmitted(index)) {
            return session.leftOf(own.session(), life, sentAt).thenAccept(left -> admitted(state, own, left));
        }
        if (own.session() != life.lease() && !claimTable.holds(state)) {
            return putAnew(state, claim, life, own);
        }
        claimTable.change(then -> {
            if (!claimTable.has(state) || state.phase == ClaimState.Phase.HELD) {
                return;
            }
            state.claim = claim;
            claimTable.keyFound(state, own);
            claimTable.waits(state, queue, sentAt);
            ClaimListener listener = state.listener;
            if (listener != null) {
                then.add(() -> listener.waiting(queue.position(index), Duration.ZERO));
            }
            watch(state, seen.revision(), then);
        });
        return DONE;
    }

    // The key waits under an earlier session, which this client has given up and does not renew. It may end at any
    // time, so a grant of it would be worth nothing.
    private CompletionStage<Void> putAnew(ClaimState state, Claim claim, Session.Life life, QueueEntry old) {
        return client.txn(deleting(old), true).thenCompose(done -> {
            claimTable.keyDeleted(state);
            return put(state, claim, life, MAX_SLOTS);
        });
    }

    private static TxnRequest deleting(QueueEntry entry) {
        return TxnRequest.newBuilder()
                .addCompare(Txns.createdAt(entry.key(), entry.created()))
                .addSuccess(Txns.delete(entry.key()))
                .build();
    }

    private void admitted(ClaimState state, QueueEntry own, Duration left) {
        claimTable.change(then -> {
            if (claimTable.has(state) && left.isZero()) {
                // Its session has ended since its key was read.
                claimTable.gone(state, Reason.EXPIRED, then);
            } else if (claimTable.has(state)) {
                Duration lease = state.claim.lease();
                claimTable.keyFound(state, own);
                claimTable.granted(state, own.session(), Session.shorter(lease, left), lease, then);
            }
        });
    }

    // The listener is notified after the key was deleted, so that "no effect" is true.
    private CompletionStage<Void> undo(ClaimState state, QueueEntry own, StoreException refusal) {
        return client.txn(deleting(own), true).handle((done, failure) -> {
            claimTable.failed(state, refusal);
            if (failure != null) {
                sweepRequest.run();
            }
            return null;
        });
    }

    /** Under the mutex: watches the claim's own key and what blocks it, for changes after a revision. */
    private void watch(ClaimState state, long revision, List<Runnable> then) {
        AdmissionQueue queue = state.seen;
        int index = queue == null ? -1 : queue.indexOf(state.claim.id());
        AdmissionQueue.Blocker blocker = queue == null || index < 0 ? null : queue.blockerOf(index);
        EtcdClient.Watch old = state.blockerWatch;
        boolean same = blocker != null && old != null && blocker.equals(state.blocker);
        boolean isNew = state.ownWatch == null;
        if (isNew) {
            state.ownStart = 0;
            state.ownIsSure = false;
            OwnKeyWatch own = new OwnKeyWatch(state);
            state.ownWatch = own;
            then.add(() -> own.begin(client, revision + 1));
        }
        if (same) {
            // Nothing else would show that the trouble is over.
            state.failures = isNew ? state.failures : 0;
            return;
        }
        int watchNumber = ++state.watchNumber;
        state.blocker = blocker;
        state.blockerWatch = null;
        state.blockerIsStarting = blocker != null;
        if (old != null) {
            then.add(old::close);
        }
        if (blocker != null) {
            ByteString key = blocker.key();
            then.add(() -> keepBlockerWatch(
                    state,
                    watchNumber,
                    client.watch(
                            key == null ? state.queue : key,
                            key == null,
                            revision + 1,
                            new BlockerListener(state, watchNumber))));
        }
    }

    private void keepBlockerWatch(ClaimState state, int watchNumber, EtcdClient.Watch watch) {
        claimTable.change(then -> {
            if (claimTable.has(state) && state.watchNumber == watchNumber) {
                state.blockerWatch = watch;
            } else {
                then.add(watch::close);
            }
        });
    }

    /** Reads the queue for a waiter. If a read is under way, another one follows it. */
    public void readQueue(ClaimState state) {
        boolean[] send = new boolean[1];
        claimTable.change(then -> {
            if (!claimTable.has(state) || state.phase != ClaimState.Phase.WAITING) {
                return;
            }
            state.readAt = Long.MAX_VALUE;
            send[0] = !state.reading;
            state.readAgain = state.reading;
            state.reading = true;
        });
        if (send[0]) {
            reader.readFor(state.queue, state.created).whenComplete((seen, failure) -> queueRead(state, seen));
        }
    }

    private void queueRead(ClaimState state, @Nullable Seen seen) {
        claimTable.change(then -> {
            state.reading = false;
            boolean again = state.readAgain;
            state.readAgain = false;
            if (!claimTable.has(state) || state.phase != ClaimState.Phase.WAITING) {
                return;
            }
            if (seen == null) {
                readQueueSoon(state);
                return;
            }
            queueSeen(state, seen, then);
            if (again && state.phase == ClaimState.Phase.WAITING) {
                then.add(() -> readQueue(state));
            }
        });
    }

    /** Under the mutex: ends, grants or continues a wait, after the queue was read at a revision. */
    void queueSeen(ClaimState state, Seen seen, List<Runnable> then) {
        AdmissionQueue queue = seen.queue();
        int index = queue.indexOf(state.claim.id());
        if (index < 0) {
            claimTable.gone(state, Reason.RELEASED, then);
        } else if (queue.isAdmitted(index)) {
            grant(state, then);
        } else {
            state.seen = queue;
            watch(state, seen.revision(), then);
        }
    }

    /** Under the mutex: the waiter holds, if its session is alive. */
    private void grant(ClaimState state, List<Runnable> then) {
        Session.Life life = session.life();
        if (life == null) {
            claimTable.gone(state, Reason.EXPIRED, then);
            return;
        }
        Duration most = Session.shorter(state.claim.lease(), ticketTtl);
        // The engine counts the reported time from the last answer "still waiting". How long another session lives, of
        // which a renewal has found the key, is not known before it is renewed.
        Duration left = state.session == life.lease() ? life.leftAt(state.waitsSince) : Duration.ZERO;
        claimTable.granted(state, state.session, Session.shorter(most, left), most, then);
    }

    /**
     * Notifies the claims that wait for permits behind a claim that was admitted. No claim waits for permits behind
     * a reader, because there is room for all readers.
     */
    public void wakeNext(ClaimState state) {
        Claim claim = state.claim;
        boolean isReader = claim.limit() == Claim.ALL && claim.permits() == 1;
        if (!claim.isExclusive() && !isReader) {
            rewrite(state);
        }
    }

    /**
     * Writes a claim's value again. A claim that waits for permits behind it watches its key, and reads the queue
     * when the key is written; that is how a waiter that was admitted notifies the next one.
     */
    void rewrite(ClaimState state) {
        rewrite(state, MAX_REWRITES);
    }

    private void rewrite(ClaimState state, int timesLeft) {
        // If this request is lost, those claims read the queue with their next renewal.
        claimTable.change(then -> {
            TxnRequest request = rewriting(state, state.claim).build();
            then.add(() -> client.txn(request, true).thenAccept(answer -> {
                if (!rewritten(state, answer, answer.getHeader().getRevision()) && timesLeft > 1) {
                    rewrite(state, timesLeft - 1);
                }
            }));
        });
    }

    /** Under the mutex: a transaction that writes a claim's value, or reads it if somebody has written it since. */
    static TxnRequest.Builder rewriting(ClaimState state, Claim claim) {
        return TxnRequest.newBuilder()
                .addCompare(Txns.createdAt(state.key, state.created))
                .addCompare(Txns.writtenAt(state.key, state.modified))
                .addSuccess(Txns.rewrite(state.key, QueueEntry.value(claim, state.since)))
                .addFailure(Txns.get(state.key));
    }

    /** Keeps what the answer to such a transaction shows. Returns whether nothing is left to be written. */
    boolean rewritten(ClaimState state, TxnResponse answer, long revision) {
        boolean[] over = {true};
        claimTable.change(then -> {
            if (!claimTable.has(state)) {
                return;
            }
            if (answer.getSucceeded()) {
                state.modified = Math.max(state.modified, revision);
                return;
            }
            RangeResponse key = answer.getResponses(0).getResponseRange();
            QueueEntry own = key.getCount() == 0 ? null : QueueEntry.of(state.queue, key.getKvs(0));
            if (own != null && own.created() == state.created) {
                claimTable.keyFound(state, own);
                over[0] = false;
            }
        });
        return over[0];
    }

    private final class BlockerListener implements EtcdClient.WatchListener {

        private final ClaimState state;
        private final int watchNumber;

        private BlockerListener(ClaimState state, int watchNumber) {
            this.state = state;
            this.watchNumber = watchNumber;
        }

        @Override
        public void onEvents(List<Event> events) {
            claimTable.change(then -> {
                if (isOver()) {
                    return;
                }
                AdmissionQueue queue = state.seen;
                boolean touched = false;
                boolean ofOwnSession = false;
                for (Event event : events) {
                    ByteString key = event.getKv().getKey();
                    QueueEntry before = queue == null ? null : queue.entry(key);
                    if (queue == null || before == null) {
                        continue;
                    }
                    if (event.getKv().getCreateRevision() > before.created()) {
                        // The key is used again, by a claim behind this one.
                        continue;
                    }
                    QueueEntry after = event.getType() == Event.EventType.DELETE
                            ? null
                            : Optional.ofNullable(QueueEntry.of(state.queue, event.getKv()))
                                    .orElse(before);
                    ofOwnSession |= before.session() == state.session;
                    touched |= after != null && after.permits() == before.permits() && !before.isExclusive();
                    queue = queue.changed(key, after);
                }
                if (queue != null) {
                    state.seen = queue;
                    decide(queue, touched, ofOwnSession, then);
                }
            });
        }

        private void decide(AdmissionQueue queue, boolean touched, boolean ofOwnSession, List<Runnable> then) {
            int index = queue.indexOf(state.claim.id());
            AdmissionQueue.Blocker before = state.blocker;
            if (index < 0) {
                claimTable.gone(state, Reason.RELEASED, then);
            } else if (!queue.isCertain(index)) {
                then.add(() -> readQueue(state));
            } else if (queue.isAdmitted(index) && state.ownIsSure && !ofOwnSession) {
                grant(state, then);
            } else if (queue.isAdmitted(index)) {
                // Its own key may have gone before its watch has started, or with that of its session.
                then.add(() -> readQueue(state));
            } else {
                boolean same = Objects.equals(queue.blockerOf(index), before);
                boolean matters = touched && !state.claim.isExclusive() && before != null && before.key() != null;
                if (!same || matters) {
                    then.add(() -> readQueue(state));
                }
            }
        }

        @Override
        public void onStarted(boolean missed) {
            claimTable.change(then -> {
                if (isOver()) {
                    return;
                }
                state.failures = 0;
                state.blockerIsStarting = false;
                boolean due = state.lookIsDue;
                state.lookIsDue = false;
                if (missed || due) {
                    then.add(() -> missedEvents.look(state));
                }
            });
        }

        @Override
        public void onClosed() {
            claimTable.change(then -> {
                if (!isOver()) {
                    state.watchNumber++;
                    state.blockerWatch = null;
                    state.blockerIsStarting = false;
                    state.blocker = null;
                    readQueueSoon(state);
                }
            });
        }

        private boolean isOver() {
            return !claimTable.has(state)
                    || state.phase != ClaimState.Phase.WAITING
                    || state.watchNumber != watchNumber;
        }
    }

    /**
     * The watch on the own key of a waiter. A claim that is granted by an event keeps it: etcd orders the events of one watch, and
     * not those of two, so that the end of its own key may be reported after the later end of the claim before it.
     */
    private final class OwnKeyWatch extends KeyWatch {

        private OwnKeyWatch(ClaimState state) {
            super(state);
        }

        @Override
        boolean covers() {
            return state.ownIsSure;
        }

        @Override
        public void onEvents(List<Event> events) {
            claimTable.change(then -> {
                if (isOver() || !isEnded(events)) {
                    return;
                }
                if (state.phase == ClaimState.Phase.WAITING) {
                    claimTable.gone(state, session.life() == null ? Reason.EXPIRED : Reason.RELEASED, then);
                } else {
                    then.add(() -> whenHolderEnded.accept(state, created));
                }
            });
        }

        @Override
        public void onStarted(boolean missed) {
            claimTable.change(then -> {
                if (isOver()) {
                    return;
                }
                state.failures = 0;
                state.ownStart = ++state.ownStarts;
                state.ownIsSure = !missed;
                if (missed && state.blockerIsStarting) {
                    // One look at both keys is enough when both watches have started.
                    state.lookIsDue = true;
                } else if (missed) {
                    then.add(() -> missedEvents.look(state));
                }
            });
        }

        @Override
        public void onClosed() {
            claimTable.change(then -> {
                if (isOver()) {
                    return;
                }
                state.ownWatch = null;
                state.ownStart = 0;
                state.ownIsSure = false;
                if (state.phase == ClaimState.Phase.WAITING) {
                    readQueueSoon(state);
                }
            });
        }

        private boolean isOver() {
            return !claimTable.has(state) || state.ownWatch != this;
        }
    }

    // Not at once: the server may be gone, and the other watches of this client are closed as well. A watch may be
    // refused again and again while reads succeed, so only a watch that starts begins the count anew.
    private void readQueueSoon(ClaimState state) {
        if (state.readAt != Long.MAX_VALUE) {
            // The other watch of this waiter was closed by the same event.
            return;
        }
        int doublings = Math.min(MAX_DOUBLINGS, state.failures++);
        state.readAt = clock.nanoTime() + (READ_AGAIN_NANOS << doublings);
        claimTable.wakeBy(state.readAt);
    }
}
