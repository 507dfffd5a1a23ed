package dev.holdfast.internal.condition;

import dev.holdfast.spi.ClaimId;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The places that threads of this client have in wait sets. A signal of this client wakes a thread of this client at once, and
 * need not travel through the store's notifications. Thread-safe.
 */
public final class WaitSets {

    private final Set<Place> places = ConcurrentHashMap.newKeySet();
    /** Those of them that are in the store. */
    private final Map<ClaimId, WaitSetPlace> inStore = new ConcurrentHashMap<>();

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
