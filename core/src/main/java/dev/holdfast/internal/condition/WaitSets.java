package dev.holdfast.internal.condition;

import dev.holdfast.spi.ClaimId;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The places that threads of this client have in wait sets of the store. So a signal of this client wakes a thread of this
 * client at once, and need not travel through the store's notifications. Thread-safe.
 */
public final class WaitSets {

    private final Map<ClaimId, WaitSetPlace> places = new ConcurrentHashMap<>();

    void add(WaitSetPlace place) {
        places.put(place.id(), place);
    }

    void remove(WaitSetPlace place) {
        places.remove(place.id());
    }

    /** A claim, which may be of this client, was removed from its wait set. */
    void ended(ClaimId id) {
        WaitSetPlace place = places.get(id);
        if (place != null) {
            place.wake();
        }
    }

    /** Wakes all threads, and releases their claims: the client closes. */
    public void close() {
        places.values().forEach(WaitSetPlace::close);
    }
}
