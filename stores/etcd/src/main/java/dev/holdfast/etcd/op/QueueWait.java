package dev.holdfast.etcd.op;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.LockKeys;
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
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Queues up, and waits for the one claim ahead that matters.
 *
 * <p>A waiter remembers the queue as it was when it came, and takes out of it what it is told has gone. If it is then
 * admitted, it is granted, without another look (see {@link AdmissionQueue} for why that is safe). If what it watched is gone and it
 * is not admitted, it looks, and watches the next one. It watches its own key too: a waiter whose key is gone never holds
 * (etcd-io/etcd#11456).
 */
public final class QueueWait {

    /** After a look that failed the next one follows after this, doubled each time, */
    private static final long LOOK_AGAIN_NANOS = 50_000_000;

    /** so often. */
    private static final int MOST_DOUBLINGS = 4;

    /** So many slots are tried in which something is left of older claims. */
    private static final int MOST_SLOTS = 3;

    private static final CompletionStage<Void> DONE = CompletableFuture.completedStage(null);

    private final EtcdClient port;
    private final Session session;
    private final ClaimTable places;
    private final LockKeys keys;
    private final MonotonicClock clock;
    private final Duration ticketTtl;
    private Runnable doubt = () -> {};

    public QueueWait(
            EtcdClient port,
            Session session,
            ClaimTable places,
            LockKeys keys,
            MonotonicClock clock,
            Duration ticketTtl) {
        this.port = port;
        this.session = session;
        this.places = places;
        this.keys = keys;
        this.clock = clock;
        this.ticketTtl = ticketTtl;
    }

    /** Who hears that a key may have been left behind. */
    public void whenInDoubt(Runnable listener) {
        doubt = listener;
    }

    public void enqueue(Claim claim, ClaimListener listener) {
        ClaimState place = places.begin(claim, listener);
        session.open().thenCompose(life -> queueUp(place, claim, life)).whenComplete((done, failure) -> {
            if (failure != null) {
                StoreException cause = EtcdErrors.of(failure, true, port.toString());
                session.failed(cause);
                places.failed(place, cause);
            }
        });
    }

    // A claim that was sent before, but not with this lease, may have a key that this client does not know of.
    private CompletionStage<Void> queueUp(ClaimState place, Claim claim, Session.Life life) {
        boolean known = place.session == life.lease() && !place.key.isEmpty();
        if (!claim.repeated() || known) {
            return put(place, claim, life, MOST_SLOTS);
        }
        long sentAt = clock.nanoTime();
        TxnRequest read =
                TxnRequest.newBuilder().addSuccess(Txns.range(place.queue)).build();
        return port.txn(read, false).thenCompose(answer -> {
            AdmissionQueue queue =
                    AdmissionQueue.of(place.queue, answer.getResponses(0).getResponseRange());
            return queue.indexOf(claim.id()) < 0
                    ? put(place, claim, life, MOST_SLOTS)
                    : found(place, claim, life, sentAt, answer, queue);
        });
    }

    private CompletionStage<Void> put(ClaimState place, Claim claim, Session.Life life, int slotsLeft) {
        long sentAt = clock.nanoTime();
        return port.txn(request(place, claim, life.lease()), true).thenCompose(answer -> {
            boolean put = answer.getSucceeded();
            AdmissionQueue queue = AdmissionQueue.of(
                    place.queue, answer.getResponses(put ? 1 : 0).getResponseRange());
            if (queue.indexOf(claim.id()) >= 0) {
                return found(place, claim, life, sentAt, answer, queue);
            }
            if (answer.getResponses(1).getResponseRange().getCount() > 0 || slotsLeft == 0) {
                places.gone(place, Reason.RELEASED);
                return DONE;
            }
            // Something of this client's is left in the slot; the sweep finds it.
            doubt.run();
            places.leaveSlot(place);
            return put(place, claim, life, slotsLeft - 1);
        });
    }

    private TxnRequest request(ClaimState place, Claim claim, long lease) {
        ByteString key = places.key(place, lease);
        ByteString tomb = keys.tombstone(claim.name(), claim.id());
        long now = clock.epochMicros();
        place.since = place.since == 0 ? now : place.since;
        return TxnRequest.newBuilder()
                .addCompare(Txns.absent(tomb))
                .addCompare(Txns.absent(key))
                .addSuccess(Txns.put(key, QueueEntry.value(claim, now), lease))
                .addSuccess(Txns.range(place.queue))
                .addFailure(Txns.range(place.queue))
                .addFailure(Txns.getKey(tomb))
                .build();
    }

    private CompletionStage<Void> found(
            ClaimState place, Claim claim, Session.Life life, long sentAt, TxnResponse answer, AdmissionQueue queue) {
        int index = queue.indexOf(claim.id());
        boolean put =
                answer.getHeader().getRevision() == queue.entries().get(index).created();
        QueueEntry own = queue.entries().get(index);
        if (put && queue.limitBefore(index, claim.limit()) != claim.limit()) {
            int inUse = queue.limitBefore(index, claim.limit());
            return undo(place, own, new KindConflictException(claim.name(), claim.limit(), inUse));
        }
        if (put && queue.position(index) >= LockStore.MAX_QUEUE) {
            return undo(
                    place,
                    own,
                    StoreException.refused(
                            "\"" + claim.name() + "\" has " + LockStore.MAX_QUEUE
                                    + " waiters already, which is the most",
                            null));
        }
        if (queue.isAdmitted(index)) {
            return session.leftOf(own.session(), life, sentAt).thenAccept(left -> admitted(place, own, left));
        }
        places.change(then -> {
            if (!places.has(place) || place.state == ClaimState.State.HELD) {
                return;
            }
            place.claim = claim;
            places.isAt(place, own);
            places.waits(place, queue, sentAt);
            ClaimListener listener = place.listener;
            if (listener != null) {
                then.add(() -> listener.waiting(queue.position(index), Duration.ZERO));
            }
            watch(place, answer.getHeader().getRevision(), then);
        });
        return DONE;
    }

    private void admitted(ClaimState place, QueueEntry own, Duration left) {
        places.change(then -> {
            if (places.has(place)) {
                Duration lease = place.claim.lease();
                places.isAt(place, own);
                places.granted(place, own.session(), Session.shorter(lease, left), lease, then);
            }
        });
    }

    // The listener hears of it when the key is gone again, so that "no effect" is true.
    private CompletionStage<Void> undo(ClaimState place, QueueEntry own, StoreException refusal) {
        TxnRequest request = TxnRequest.newBuilder()
                .addCompare(Txns.createdAt(own.key(), own.created()))
                .addSuccess(Txns.delete(own.key()))
                .build();
        return port.txn(request, true).handle((done, failure) -> {
            places.failed(place, refusal);
            if (failure != null) {
                doubt.run();
            }
            return null;
        });
    }

    /** Under the mutex: watches the own key, and whoever is in the way, from a revision on. */
    private void watch(ClaimState place, long revision, List<Runnable> then) {
        AdmissionQueue queue = place.seen;
        int index = queue == null ? -1 : queue.indexOf(place.claim.id());
        AdmissionQueue.Blocker blocker = queue == null || index < 0 ? null : queue.blocker(index);
        EtcdClient.Watch old = place.blockerWatch;
        boolean same = blocker != null && old != null && blocker.equals(place.blocker);
        if (place.ownWatch == null) {
            // One look is enough for both: the other watch begins later.
            OwnEars ears = new OwnEars(place, blocker == null || same);
            then.add(() -> keepOwn(place, port.watch(place.key, false, revision + 1, ears)));
        }
        if (same) {
            return;
        }
        int number = ++place.watched;
        place.blocker = blocker;
        place.blockerWatch = null;
        if (old != null) {
            then.add(old::close);
        }
        if (blocker != null) {
            ByteString key = blocker.key();
            then.add(() -> keepBlocker(
                    place,
                    number,
                    port.watch(
                            key == null ? place.queue : key,
                            key == null,
                            revision + 1,
                            new BlockerEars(place, number))));
        }
    }

    private void keepOwn(ClaimState place, EtcdClient.Watch watch) {
        places.change(then -> {
            if (places.has(place) && place.state == ClaimState.State.WAITING && place.ownWatch == null) {
                place.ownWatch = watch;
            } else {
                then.add(watch::close);
            }
        });
    }

    private void keepBlocker(ClaimState place, int number, EtcdClient.Watch watch) {
        places.change(then -> {
            if (places.has(place) && place.watched == number) {
                place.blockerWatch = watch;
            } else {
                then.add(watch::close);
            }
        });
    }

    /** Reads the queue for a waiter, unless that is under way. */
    public void look(ClaimState place) {
        boolean[] send = new boolean[1];
        places.change(then -> {
            if (!places.has(place) || place.state != ClaimState.State.WAITING) {
                return;
            }
            place.lookAt = Long.MAX_VALUE;
            send[0] = !place.looking;
            place.lookAgain = place.looking;
            place.looking = true;
        });
        if (send[0]) {
            TxnRequest request =
                    TxnRequest.newBuilder().addSuccess(Txns.range(place.queue)).build();
            port.txn(request, false).whenComplete((answer, failure) -> looked(place, answer, failure));
        }
    }

    private void looked(ClaimState place, @Nullable TxnResponse answer, @Nullable Throwable failure) {
        places.change(then -> {
            place.looking = false;
            boolean again = place.lookAgain;
            place.lookAgain = false;
            if (!places.has(place) || place.state != ClaimState.State.WAITING) {
                return;
            }
            if (answer == null || failure != null) {
                int doublings = Math.min(MOST_DOUBLINGS, place.looksFailed++);
                place.lookAt = clock.nanoTime() + (LOOK_AGAIN_NANOS << doublings);
                places.wakeBy(place.lookAt);
                return;
            }
            place.looksFailed = 0;
            AdmissionQueue queue =
                    AdmissionQueue.of(place.queue, answer.getResponses(0).getResponseRange());
            seen(place, queue, answer.getHeader().getRevision(), then);
            if (again && place.state == ClaimState.State.WAITING) {
                then.add(() -> look(place));
            }
        });
    }

    /** Under the mutex: what a waiter makes of the queue as it is at a revision. */
    void seen(ClaimState place, AdmissionQueue queue, long revision, List<Runnable> then) {
        int index = queue.indexOf(place.claim.id());
        if (index < 0) {
            places.gone(place, Reason.RELEASED, then);
        } else if (queue.isAdmitted(index)) {
            grant(place, then);
        } else {
            place.seen = queue;
            watch(place, revision, then);
        }
    }

    /** Under the mutex: the waiter holds, if its session lives. */
    private void grant(ClaimState place, List<Runnable> then) {
        Session.Life life = session.life();
        if (life == null) {
            places.gone(place, Reason.EXPIRED, then);
            return;
        }
        Claim claim = place.claim;
        // Whoever waits for permits behind it must hear of it. Nobody does behind a reader: there is room for all of
        // them.
        boolean isReader = claim.limit() == Claim.ALL && claim.permits() == 1;
        if (!claim.isExclusive() && !isReader) {
            then.add(() -> rewrite(place));
        }
        Duration most = Session.shorter(claim.lease(), ticketTtl);
        // The engine counts what it is told from the last answer "still waiting".
        Duration left = place.session == life.lease() ? life.leftAt(place.waitsSince) : most;
        places.granted(place, place.session, Session.shorter(most, left), most, then);
    }

    /**
     * Writes a claim's value anew. Whoever waits for permits behind it watches its key, and looks when it is written; that
     * is how a waiter that was admitted tells the next one.
     */
    void rewrite(ClaimState place) {
        TxnRequest request = TxnRequest.newBuilder()
                .addCompare(Txns.createdAt(place.key, place.created))
                .addSuccess(Txns.rewrite(place.key, QueueEntry.value(place.claim, place.since)))
                .build();
        // If this is lost, they look with their next refresh.
        port.txn(request, true);
    }

    private final class BlockerEars implements EtcdClient.Ears {

        private final ClaimState place;
        private final int number;

        private BlockerEars(ClaimState place, int number) {
            this.place = place;
            this.number = number;
        }

        @Override
        public void happened(List<Event> events) {
            places.change(then -> {
                if (isOver()) {
                    return;
                }
                AdmissionQueue queue = place.seen;
                boolean touched = false;
                for (Event event : events) {
                    ByteString key = event.getKv().getKey();
                    QueueEntry before = queue == null ? null : queue.entry(key);
                    if (queue == null || before == null) {
                        continue;
                    }
                    if (event.getKv().getCreateRevision() > before.created()) {
                        // The key is used anew, by a claim behind this one.
                        continue;
                    }
                    QueueEntry after = event.getType() == Event.EventType.DELETE
                            ? null
                            : Optional.ofNullable(QueueEntry.of(place.queue, event.getKv()))
                                    .orElse(before);
                    touched |= after != null && after.permits() == before.permits() && !before.isExclusive();
                    queue = queue.changed(key, after);
                }
                if (queue != null) {
                    place.seen = queue;
                    judge(queue, touched, then);
                }
            });
        }

        private void judge(AdmissionQueue queue, boolean touched, List<Runnable> then) {
            int index = queue.indexOf(place.claim.id());
            AdmissionQueue.Blocker before = place.blocker;
            if (index < 0) {
                places.gone(place, Reason.RELEASED, then);
            } else if (queue.isAdmitted(index)) {
                grant(place, then);
            } else {
                boolean same = Objects.equals(queue.blocker(index), before);
                boolean matters = touched && !place.claim.isExclusive() && before != null && before.key() != null;
                if (!same || matters) {
                    then.add(() -> look(place));
                }
            }
        }

        @Override
        public void began(boolean missed) {
            places.change(then -> {
                if (missed && !isOver()) {
                    then.add(() -> look(place));
                }
            });
        }

        @Override
        public void deaf() {
            places.change(then -> {
                if (!isOver()) {
                    place.blockerWatch = null;
                    place.blocker = null;
                    lookSoon(place);
                }
            });
        }

        private boolean isOver() {
            return !places.has(place) || place.state != ClaimState.State.WAITING || place.watched != number;
        }
    }

    private final class OwnEars implements EtcdClient.Ears {

        private final ClaimState place;
        private final boolean looks;

        private OwnEars(ClaimState place, boolean looks) {
            this.place = place;
            this.looks = looks;
        }

        @Override
        public void happened(List<Event> events) {
            places.change(then -> {
                boolean deleted = events.stream().anyMatch(event -> event.getType() == Event.EventType.DELETE);
                if (deleted && places.has(place) && place.state == ClaimState.State.WAITING) {
                    places.gone(place, session.life() == null ? Reason.EXPIRED : Reason.RELEASED, then);
                }
            });
        }

        @Override
        public void began(boolean missed) {
            if (missed && looks) {
                look(place);
            }
        }

        @Override
        public void deaf() {
            places.change(then -> {
                if (places.has(place) && place.state == ClaimState.State.WAITING) {
                    place.ownWatch = null;
                    lookSoon(place);
                }
            });
        }
    }

    // Not at once: the server may be gone, and the other watches of this client are deaf as well.
    private void lookSoon(ClaimState place) {
        int doublings = Math.min(MOST_DOUBLINGS, place.looksFailed);
        place.lookAt = clock.nanoTime() + (LOOK_AGAIN_NANOS << doublings);
        places.wakeBy(place.lookAt);
    }
}
