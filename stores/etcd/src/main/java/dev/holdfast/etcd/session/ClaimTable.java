package dev.holdfast.etcd.session;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.LockKeys;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.LockName;
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
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The claims that this client has in the store, or may have. A claim is in here before its request is sent, so whatever is
 * found under the client's lease and not in here belongs to nobody.
 *
 * <p>Guarded by {@link #mutex}. What listeners hear, and what is sent, is collected under it and done after it: see {@link
 * #change}.
 */
public final class ClaimTable {

    private final LockKeys keys;
    private final MonotonicClock clock;
    private final Duration ticketTtl;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<Of, ClaimState> places = new HashMap<>();
    private final Map<LockName, BitSet> slots = new HashMap<>();
    /** A claim's id is unique, but a careless caller may use one for several names; that must harm none. */
    private record Of(LockName name, ClaimId id) {

        private Of(Claim claim) {
            this(claim.name(), claim.id());
        }
    }

    private LongConsumer earlier = at -> {};

    public ClaimTable(LockKeys keys, MonotonicClock clock, Duration ticketTtl) {
        this.keys = keys;
        this.clock = clock;
        this.ticketTtl = ticketTtl;
    }

    /** Who hears of each new deadline. */
    void whenEarlier(LongConsumer wake) {
        earlier = wake;
    }

    /** Something is due at a moment. */
    public void wakeBy(long at) {
        earlier.accept(at);
    }

    /** Makes a change under the mutex, then does what it has collected. */
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

    /** The place of a claim that is about to be sent, with a new listener if there is one. */
    public ClaimState begin(Claim claim, @Nullable ClaimListener listener) {
        mutex.lock();
        try {
            ClaimState place = places.get(new Of(claim));
            if (place == null) {
                place = new ClaimState(keys, claim, listener);
                place.deadline = Long.MAX_VALUE;
                takeSlot(place);
                places.put(new Of(claim), place);
            } else if (listener != null) {
                place.listener = listener;
            }
            return place;
        } finally {
            mutex.unlock();
        }
    }

    /** The key under which a claim is to be sent; the one that it has, if it was sent under this lease already. */
    public ByteString key(ClaimState place, long lease) {
        mutex.lock();
        try {
            if (place.key.isEmpty() || (place.created == 0 && place.session != lease)) {
                place.key = LockKeys.key(place.queue, lease, place.slot);
                place.session = lease;
            }
            return place.key;
        } finally {
            mutex.unlock();
        }
    }

    /** Another slot, because something is left of an older claim in this one. */
    public void leaveSlot(ClaimState place) {
        mutex.lock();
        try {
            int left = place.slot;
            takeSlot(place);
            place.key = ByteString.EMPTY;
            freeSlot(place, left);
        } finally {
            mutex.unlock();
        }
    }

    private void takeSlot(ClaimState place) {
        BitSet used = slots.computeIfAbsent(place.claim.name(), unused -> new BitSet());
        place.slot = used.nextClearBit(0);
        used.set(place.slot);
    }

    private void freeSlot(ClaimState place, int slot) {
        BitSet used = slots.get(place.claim.name());
        if (used != null) {
            used.clear(slot);
            if (used.isEmpty()) {
                slots.remove(place.claim.name());
            }
        }
    }

    /** Under the mutex or not: the place of a claim. */
    @Nullable
    public ClaimState find(LockName name, ClaimId id) {
        mutex.lock();
        try {
            return places.get(new Of(name, id));
        } finally {
            mutex.unlock();
        }
    }

    /** Under the mutex: whether this is still a place of the client's. */
    public boolean has(ClaimState place) {
        return places.get(new Of(place.claim)) == place;
    }

    /** All places at this moment. */
    Collection<ClaimState> all() {
        mutex.lock();
        try {
            return List.copyOf(places.values());
        } finally {
            mutex.unlock();
        }
    }

    public boolean isEmpty() {
        mutex.lock();
        try {
            return places.isEmpty();
        } finally {
            mutex.unlock();
        }
    }

    /** Under the mutex: where the claim's key was found. */
    public void isAt(ClaimState place, QueueEntry own) {
        place.key = own.key();
        place.created = own.created();
        place.session = own.session();
        place.since = own.since();
    }

    /** Under the mutex: the claim holds, for so long by this client's clock unless it is renewed. */
    public void held(ClaimState place, Claim claim, long created, long session, Duration keep, List<Runnable> then) {
        place.claim = claim;
        place.state = ClaimState.State.HELD;
        place.created = created;
        place.session = session;
        keepFor(place, keep);
        forgetWatches(place, then);
        place.seen = null;
    }

    /** Under the mutex: the deadline is at least so far away. */
    public void keepFor(ClaimState place, Duration keep) {
        long at = clock.nanoTime() + keep.toNanos();
        boolean sooner = place.deadline == Long.MAX_VALUE;
        if (sooner || at - place.deadline > 0) {
            place.deadline = at;
        }
        if (sooner) {
            earlier.accept(at);
        }
    }

    /** Under the mutex: the claim waits for another ticket's time. */
    public void waits(ClaimState place, AdmissionQueue queue, long sentAt) {
        place.state = ClaimState.State.WAITING;
        place.seen = queue;
        place.waitsSince = sentAt;
        keepFor(place, ticketTtl);
    }

    /** Under the mutex: the claim was granted to a waiter; the listener hears of it. */
    public void granted(ClaimState place, long session, Duration told, Duration keep, List<Runnable> then) {
        ClaimListener listener = place.listener;
        place.listener = null;
        place.deadline = Long.MAX_VALUE;
        held(place, place.claim, place.created, session, keep, then);
        long counter = place.created;
        if (listener != null) {
            then.add(() -> listener.granted(counter, told));
        }
    }

    /** The claim is gone; its listener hears why, if it has not heard another outcome. */
    public void gone(ClaimState place, Renewed.Reason reason) {
        change(then -> gone(place, reason, then));
    }

    /** Under the mutex: the same. */
    public void gone(ClaimState place, Renewed.Reason reason, List<Runnable> then) {
        ClaimListener listener = remove(place, then);
        if (listener != null) {
            then.add(() -> listener.ended(reason));
        }
    }

    /** The request of a claim failed. If that leaves open what became of it, its place is kept for as long as its lease. */
    public void failed(ClaimState place, StoreException cause) {
        change(then -> {
            if (!has(place)) {
                return;
            }
            ClaimListener listener = place.listener;
            place.listener = null;
            if (place.state == ClaimState.State.SENT || place.state == ClaimState.State.UNKNOWN) {
                if (cause.effect() == Effect.UNKNOWN) {
                    place.state = ClaimState.State.UNKNOWN;
                    keepFor(place, place.claim.lease());
                } else if (place.state == ClaimState.State.SENT) {
                    remove(place, then);
                }
            }
            if (listener != null) {
                then.add(() -> listener.failed(cause));
            }
        });
    }

    /** Under the mutex: nothing is left of the claim. Returns who must be told. */
    @Nullable
    public ClaimListener remove(ClaimState place, List<Runnable> then) {
        if (!places.remove(new Of(place.claim), place)) {
            return null;
        }
        freeSlot(place, place.slot);
        ClaimListener listener = place.listener;
        place.listener = null;
        forgetWatches(place, then);
        return listener;
    }

    /** A lease is over, and with it every key that lived by it. */
    public void sessionOver(long session) {
        change(then -> List.copyOf(places.values()).stream()
                .filter(place -> place.session == session)
                .forEach(place -> gone(place, Renewed.Reason.EXPIRED, then)));
    }

    /** Whether a key belongs to a claim that is in here. */
    boolean isKnown(ByteString key) {
        mutex.lock();
        try {
            return places.values().stream().anyMatch(place -> place.key.equals(key));
        } finally {
            mutex.unlock();
        }
    }

    public void forgetListener(Claim claim, ClaimListener listener) {
        mutex.lock();
        try {
            ClaimState place = places.get(new Of(claim));
            if (place != null && place.listener == listener) {
                place.listener = null;
            }
        } finally {
            mutex.unlock();
        }
    }

    public void clear() {
        mutex.lock();
        try {
            places.clear();
            slots.clear();
        } finally {
            mutex.unlock();
        }
    }

    private static void forgetWatches(ClaimState place, List<Runnable> then) {
        place.watched++;
        place.blocker = null;
        place.lookAt = Long.MAX_VALUE;
        EtcdClient.Watch blocker = place.blockerWatch;
        EtcdClient.Watch own = place.ownWatch;
        place.blockerWatch = null;
        place.ownWatch = null;
        if (blocker != null) {
            then.add(blocker::close);
        }
        if (own != null) {
            then.add(own::close);
        }
    }
}
