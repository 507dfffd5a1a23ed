package dev.holdfast.quorum;

import dev.holdfast.spi.ClaimId;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The claims that this client holds. A claim that was never released, because its owner has lost it, is forgotten some time
 * after its votes have ended. Thread-safe.
 */
final class Book {

    /** No search for claims that are over below this number. */
    private static final int SMALL = 1_000;

    private final Map<ClaimId, Holding> holdings = new ConcurrentHashMap<>();
    private final AtomicInteger searchAbove = new AtomicInteger(SMALL);

    @Nullable
    Holding get(ClaimId id) {
        return holdings.get(id);
    }

    void put(ClaimId id, Holding holding, long now) {
        holdings.put(id, holding);
        int limit = searchAbove.get();
        if (holdings.size() > limit && searchAbove.compareAndSet(limit, Integer.MAX_VALUE)) {
            holdings.values().removeIf(known -> !known.isHeld(1, now));
            searchAbove.set(Math.max(SMALL, 2 * holdings.size()));
        }
    }

    /** Removes a claim that is being released or is lost. */
    @Nullable
    Holding close(ClaimId id) {
        Holding holding = holdings.remove(id);
        if (holding != null) {
            holding.close();
        }
        return holding;
    }

    int size() {
        return holdings.size();
    }
}
