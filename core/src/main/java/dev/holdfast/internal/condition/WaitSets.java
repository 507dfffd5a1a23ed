package dev.holdfast.internal.condition;

import dev.holdfast.internal.time.Simulator;
import dev.holdfast.spi.ClaimId;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The places that threads of this client have in wait sets. A signal of this client wakes a thread of this client at once, and
 * need not travel through the store's notifications. Thread-safe.
 */
public final class WaitSets {

    private final Set<Place> places;
    /** Those of them that are in the store. */
    private final Map<ClaimId, WaitSetPlace> inStore = new ConcurrentHashMap<>();

    /** Waits of threads that have not returned yet, and signals that are being passed on. */
    private final AtomicInteger unfinished = new AtomicInteger();

    /** Those of them that are waits, by thread: one that waits may wait again inside, in the code of an observer. */
    private final Map<Thread, Integer> waits = new ConcurrentHashMap<>();

    /** @param simulator needs an order that a seed repeats; null if threads do the work */
    public WaitSets(@Nullable Simulator simulator) {
        this.places = Simulator.setFor(simulator);
    }

    /** This thread begins to wait. */
    void beginWait() {
        begin();
        waits.merge(Thread.currentThread(), 1, Integer::sum);
    }

    /** This thread has returned from its wait, or is about to. */
    void endWait() {
        waits.computeIfPresent(Thread.currentThread(), (thread, count) -> count == 1 ? null : count - 1);
        end();
    }

    /** A signal begins to be passed on. */
    void begin() {
        unfinished.incrementAndGet();
    }

    /** What has begun is over. */
    void end() {
        unfinished.decrementAndGet();
    }

    /**
     * How many threads wait, or were woken and have not returned yet, and how many signals are being passed on. The close of the
     * client waits for them: a thread that was signalled and cannot have the lock any more passes the signal on, for which it
     * needs the store. Waits of the calling thread do not count: an observer that closes the client from there would wait for itself.
     */
    public int unfinished() {
        return unfinished.get() - waits.getOrDefault(Thread.currentThread(), 0);
    }

    void add(Place place) {
        places.add(place);
        if (place instanceof WaitSetPlace stored) {
            inStore.put(stored.id(), stored);
        }
    }

    void remove(Place place) {
        places.remove(place);
        if (place instanceof WaitSetPlace stored) {
            inStore.remove(stored.id());
        }
    }

    /** A claim, which may be of this client, was removed from its wait set. */
    void ended(ClaimId id) {
        WaitSetPlace place = inStore.get(id);
        if (place != null) {
            place.wake();
        }
    }

    /** Wakes all threads, and gives up their places: the client closes. */
    public void close() {
        places.forEach(Place::close);
    }
}
