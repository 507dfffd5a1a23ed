package dev.holdfast.zookeeper.claim;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The claims of this client that are sent, wait or hold, and those that were released and must not come back. Thread-safe.
 */
public final class ClaimTable {

    /** The most released claims that are remembered; the oldest are forgotten first. */
    static final int MAX_TOMBSTONES = 10_000;

    private final MonotonicClock clock;
    private final Map<ClaimId, ClaimState> live = new ConcurrentHashMap<>();
    private final Map<ClaimId, Long> tombstones = new LinkedHashMap<>();

    public ClaimTable(MonotonicClock clock) {
        this.clock = clock;
    }

    @Nullable
    public ClaimState find(ClaimId id) {
        return live.get(id);
    }

    /** Returns the place of the same claim that is here already, or null. */
    @Nullable
    public ClaimState add(ClaimState place) {
        return live.putIfAbsent(place.id(), place);
    }

    /** Ends a place. Returns whether it was not over before. */
    public boolean remove(ClaimState place) {
        live.remove(place.id(), place);
        return place.end();
    }

    /** Ends a place and tells its listener. */
    public void end(ClaimState place, Renewed.Reason reason) {
        remove(place);
        OneShotListener ear = place.ear();
        if (ear != null) {
            ear.ended(reason);
        }
    }

    public Collection<ClaimState> all() {
        return live.values();
    }

    public int count() {
        return live.size();
    }

    /** From now on, for its lease, the claim is refused. */
    public void bury(Claim claim) {
        long now = clock.nanoTime();
        synchronized (tombstones) {
            tombstones.remove(claim.id());
            tombstones.put(claim.id(), now + claim.lease().toNanos());
            Iterator<ClaimId> oldest = tombstones.keySet().iterator();
            while (tombstones.size() > MAX_TOMBSTONES) {
                oldest.next();
                oldest.remove();
            }
        }
    }

    public boolean isBuried(ClaimId id) {
        synchronized (tombstones) {
            Long until = tombstones.get(id);
            if (until == null) {
                return false;
            }
            if (until - clock.nanoTime() > 0) {
                return true;
            }
            tombstones.remove(id);
            return false;
        }
    }

    public void clear() {
        live.clear();
    }
}
