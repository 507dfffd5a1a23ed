package dev.holdfast.etcd.session;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.LockKeys;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The claims that this client has, or may have, in the store. A claim is added before its request is sent, so a key
 * that is attached to the client's lease and is not in this table belongs to no claim.
 *
 * <p>Guarded by {@link #mutex}. Calls of listeners, and requests, are collected while it is held and made after it
 * was released: see {@link #change}.
 */
public final class ClaimTable {

    private final LockKeys keys;
    private final MonotonicClock clock;
    private final Duration ticketTtl;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<NameAndId, ClaimState> claims = new HashMap<>();
    private final Map<LockName, BitSet> slots = new HashMap<>();
    /**
     * Identifies a claim. An id is unique, but a careless caller may use one for several names; that must harm none
     * of them.
     */
    private record NameAndId(LockName name, ClaimId id) {

        private NameAndId(Claim claim) {
            this(claim.name(), claim.id());
        }

        // By hand, as those of the two: what a record generates is slow until it is compiled.
        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof NameAndId that && id.equals(that.id) && name.equals(that.name);
        }

        @Override
        public int hashCode() {
            return 31 * name.hashCode() + id.hashCode();
        }
    }

    private LongConsumer onDeadlineSet = at -> {};
    private Consumer<ClaimState> onAdmitted = state -> {};

    private LossListener onLost = (name, id, reason) -> {};

    public ClaimTable(LockKeys keys, MonotonicClock clock, Duration ticketTtl) {
        this.keys = keys;
        this.clock = clock;
        this.ticketTtl = ticketTtl;
    }

    /** Sets the listener that is called with each new deadline. */
    void whenDeadlineSet(LongConsumer wake) {
        onDeadlineSet = wake;
    }

    /** Sets the listener that is called, without the mutex, with each claim that holds and may have waited. */
    public void whenAdmitted(Consumer<ClaimState> listener) {
        onAdmitted = listener;
    }

    /** Sets the listener that is called, without the mutex, for each claim that held when its lease was over. */
    public void whenLost(LossListener listener) {
        onLost = listener;
    }

    /** Reports a time at which something is due. */
    public void wakeBy(long at) {
        onDeadlineSet.accept(at);
    }

    /** Makes a change under the mutex, then runs the actions that it has collected. */
    public void change(Consumer<List<Runnable>> change) {
        List<Runnable> then = new ArrayList<>(2);
        mutex.lock();
        try {
            change.accept(then);
        } finally {
            mutex.unlock();
        }
        then.forEach(Runnable::run);
    }

    /** The state of a claim whose request is about to be sent, with a new listener if one is given. */
    public ClaimState begin(Claim claim, @Nullable ClaimListener listener) {
        mutex.lock();
        try {
            ClaimState state = claims.get(new NameAndId(claim));
            if (state == null) {
                state = new ClaimState(keys, claim, listener);
                state.deadline = Long.MAX_VALUE;
                takeSlot(state);
                claims.put(new NameAndId(claim), state);
            } else if (listener != null) {
                state.listener = listener;
            }
            return state;
        } finally {
            mutex.unlock();
        }
    }

    /** The key to send a claim with: the key that it has, if it was sent with this lease already. */
    public ByteString key(ClaimState state, long lease) {
        mutex.lock();
        try {
            if (state.key.isEmpty() || (state.created == 0 && state.session != lease)) {
                state.key = LockKeys.key(state.queue, lease, state.slot);
                state.session = lease;
            }
            return state.key;
        } finally {
            mutex.unlock();
        }
    }

    /** Takes another slot, because a key of an older claim is left in this one. */
    public void leaveSlot(ClaimState state) {
        mutex.lock();
        try {
            int left = state.slot;
            takeSlot(state);
            state.key = ByteString.EMPTY;
            freeSlot(state, left);
        } finally {
            mutex.unlock();
        }
    }

    /** A release of the claim is about to be sent: the end of its key is no loss, and a holder needs no watch on it any more. */
    public void releasing(ClaimState state) {
        change(then -> {
            state.releasing = true;
            if (state.phase == ClaimState.Phase.HELD) {
                closeOwnWatch(state, then);
            }
        });
    }

    /** The key that the claim had was deleted, and another one is about to be put. */
    public void keyDeleted(ClaimState state) {
        change(then -> {
            state.key = ByteString.EMPTY;
            state.created = 0;
            state.phase = ClaimState.Phase.SENT;
            closeWatches(state, then);
        });
    }

    private void takeSlot(ClaimState state) {
        BitSet used = slots.computeIfAbsent(state.claim.name(), unused -> new BitSet());
        state.slot = used.nextClearBit(0);
        used.set(state.slot);
    }

    private void freeSlot(ClaimState state, int slot) {
        BitSet used = slots.get(state.claim.name());
        if (used != null) {
            used.clear(slot);
            if (used.isEmpty()) {
                slots.remove(state.claim.name());
            }
        }
    }

    /** The state of a claim. May be called with and without the mutex. */
    @Nullable
    public ClaimState find(LockName name, ClaimId id) {
        mutex.lock();
        try {
            return claims.get(new NameAndId(name, id));
        } finally {
            mutex.unlock();
        }
    }

    /** Under the mutex: whether this state is still in the table. */
    public boolean has(ClaimState state) {
        return claims.get(new NameAndId(state.claim)) == state;
    }

    /** Whether a claim holds, as far as this client knows. */
    public boolean holds(ClaimState state) {
        mutex.lock();
        try {
            return has(state) && state.phase == ClaimState.Phase.HELD;
        } finally {
            mutex.unlock();
        }
    }

    /** The states of all claims at this moment. */
    Collection<ClaimState> all() {
        mutex.lock();
        try {
            return List.copyOf(claims.values());
        } finally {
            mutex.unlock();
        }
    }

    public boolean isEmpty() {
        mutex.lock();
        try {
            return claims.isEmpty();
        } finally {
            mutex.unlock();
        }
    }

    /** Under the mutex: the claim's key was found in the queue. */
    public void keyFound(ClaimState state, QueueEntry own) {
        state.key = own.key();
        state.created = own.created();
        state.claim = state.claim.withPermits(own.permits());
        state.modified = own.modified();
        state.session = own.session();
        state.since = own.since();
    }

    /**
     * Under the mutex: the claim holds, for {@code keep} by this client's clock unless it is renewed. Any request
     * may be the first to find that an enqueued claim was admitted, so the listener is notified here.
     */
    public void held(
            ClaimState state,
            Claim claim,
            long created,
            long session,
            Duration reported,
            Duration keep,
            List<Runnable> then) {
        boolean mayHaveWaited = state.phase == ClaimState.Phase.WAITING || state.phase == ClaimState.Phase.UNKNOWN;
        boolean isNewKey = state.phase != ClaimState.Phase.HELD || state.created != created;
        boolean keepsOwnWatch = state.phase == ClaimState.Phase.WAITING && state.created == created && state.ownIsSure;
        ClaimListener listener = state.listener;
        state.listener = null;
        state.claim = claim;
        state.phase = ClaimState.Phase.HELD;
        state.loss = null;
        state.created = created;
        state.session = session;
        keepFor(state, keep);
        if (mayHaveWaited) {
            then.add(() -> onAdmitted.accept(state));
        }
        if (isNewKey) {
            closeBlockerWatch(state, then);
        }
        if (isNewKey && !keepsOwnWatch) {
            closeOwnWatch(state, then);
        }
        state.seen = null;
        if (listener != null) {
            Granted granted = new Granted(created, reported);
            then.add(() -> listener.granted(granted));
        }
    }

    /** Under the mutex: sets the deadline to this time from now, unless it is later already. */
    public void keepFor(ClaimState state, Duration keep) {
        long at = clock.nanoTime() + keep.toNanos();
        boolean sooner = state.deadline == Long.MAX_VALUE;
        if (sooner || at - state.deadline > 0) {
            state.deadline = at;
        }
        if (sooner) {
            onDeadlineSet.accept(at);
        }
    }

    /** Under the mutex: the claim waits, for another time to live of a ticket unless it is renewed. */
    public void waits(ClaimState state, @Nullable AdmissionQueue queue, long sentAt) {
        // The answer to an earlier request may come later.
        if (state.phase != ClaimState.Phase.WAITING || sentAt - state.waitsSince > 0) {
            state.waitsSince = sentAt;
        }
        state.phase = ClaimState.Phase.WAITING;
        state.seen = queue;
        keepFor(state, ticketTtl);
    }

    /** Under the mutex: the same for a claim whose key is known. The time begins anew. */
    public void granted(ClaimState state, long session, Duration reported, Duration keep, List<Runnable> then) {
        state.deadline = Long.MAX_VALUE;
        held(state, state.claim, state.created, session, reported, keep, then);
    }

    /**
     * The claim is gone. Its listener is notified of the reason, unless it was notified of another outcome before.
     */
    public void gone(ClaimState state, Renewed.Reason reason) {
        change(then -> gone(state, reason, then));
    }

    /** Under the mutex: the same. */
    public void gone(ClaimState state, Renewed.Reason reason, List<Runnable> then) {
        ClaimListener listener = remove(state, then);
        if (listener != null) {
            then.add(() -> listener.ended(reason));
        }
    }

    /**
     * The enqueue of a claim failed. If its effect is unknown, the state is kept for as long as the claim's lease.
     */
    public void failed(ClaimState state, StoreException cause) {
        change(then -> failed(state, cause, then));
    }

    /** The same for an attempt. It does not concern the listener of an enqueue, which has its own outcome. */
    public void attemptFailed(ClaimState state, StoreException cause) {
        change(then -> {
            if (state.listener == null) {
                failed(state, cause, then);
            }
        });
    }

    /** The same for an enqueue that takes too long, unless it was placed meanwhile. */
    public void late(ClaimState state, StoreException cause) {
        change(then -> {
            if (state.phase == ClaimState.Phase.SENT || state.phase == ClaimState.Phase.UNKNOWN) {
                failed(state, cause, then);
            }
        });
    }

    private void failed(ClaimState state, StoreException cause, List<Runnable> then) {
        if (!has(state)) {
            return;
        }
        ClaimListener listener = state.listener;
        state.listener = null;
        if (state.phase == ClaimState.Phase.SENT || state.phase == ClaimState.Phase.UNKNOWN) {
            if (cause.effect() == Effect.UNKNOWN) {
                state.phase = ClaimState.Phase.UNKNOWN;
                keepFor(state, state.claim.lease());
            } else if (state.phase == ClaimState.Phase.SENT) {
                remove(state, then);
            }
        }
        if (listener != null) {
            then.add(() -> listener.failed(cause));
        }
    }

    /**
     * Under the mutex: an attempt was busy. Removes the claim unless it is older than the attempt: unless it holds,
     * waits or is being enqueued.
     */
    public void busy(ClaimState state, List<Runnable> then) {
        boolean isOfAttempt = state.phase == ClaimState.Phase.SENT || state.phase == ClaimState.Phase.UNKNOWN;
        if (isOfAttempt && state.listener == null) {
            remove(state, then);
        }
    }

    /** Under the mutex: removes the claim. Returns the listener that must be notified, or null. */
    @Nullable
    public ClaimListener remove(ClaimState state, List<Runnable> then) {
        if (!claims.remove(new NameAndId(state.claim), state)) {
            return null;
        }
        freeSlot(state, state.slot);
        ClaimListener listener = state.listener;
        state.listener = null;
        closeWatches(state, then);
        return listener;
    }

    /** A lease is over, and with it every key that was attached to it. */
    public void sessionOver(long session) {
        change(then -> List.copyOf(claims.values()).stream()
                .filter(state -> state.session == session)
                .forEach(state -> {
                    if (state.phase == ClaimState.Phase.HELD) {
                        LossListener listener = onLost;
                        then.add(() -> listener.lost(state.claim.name(), state.claim.id(), Renewed.Reason.EXPIRED));
                    }
                    gone(state, Renewed.Reason.EXPIRED, then);
                }));
    }

    /** The keys of all claims of this table, at this moment. */
    Set<ByteString> keys() {
        mutex.lock();
        try {
            return claims.values().stream().map(state -> state.key).collect(Collectors.toSet());
        } finally {
            mutex.unlock();
        }
    }

    public void removeListener(Claim claim, ClaimListener listener) {
        mutex.lock();
        try {
            ClaimState state = claims.get(new NameAndId(claim));
            if (state != null && state.listener == listener) {
                state.listener = null;
            }
        } finally {
            mutex.unlock();
        }
    }

    public void clear() {
        mutex.lock();
        try {
            claims.clear();
            slots.clear();
        } finally {
            mutex.unlock();
        }
    }

    private static void closeWatches(ClaimState state, List<Runnable> then) {
        closeBlockerWatch(state, then);
        closeOwnWatch(state, then);
    }

    private static void closeBlockerWatch(ClaimState state, List<Runnable> then) {
        state.watchNumber++;
        state.blocker = null;
        state.readAt = Long.MAX_VALUE;
        EtcdClient.Watch open = state.blockerWatch;
        state.blockerWatch = null;
        if (open != null) {
            then.add(open::close);
        }
    }

    private static void closeOwnWatch(ClaimState state, List<Runnable> then) {
        EtcdClient.Watch open = state.ownWatch;
        state.ownWatch = null;
        state.ownIsSure = false;
        if (open != null) {
            then.add(open::close);
        }
    }
}
