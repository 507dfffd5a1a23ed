package dev.holdfast.zookeeper.claim;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.store.sequenced.Tombstones;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The claims of this client that are sent, wait or hold, and tombstones of released claims that must not be
 * acquired again. Thread-safe.
 */
public final class ClaimTable {

    /** The maximum number of tombstones. The oldest ones are dropped first. */
    static final int MAX_TOMBSTONES = 10_000;

    private final NodeWatches watches;
    private final Map<ClaimId, ClaimState> live = new ConcurrentHashMap<>();
    private final Tombstones<ClaimId> tombstones;

    public ClaimTable(MonotonicClock clock, NodeWatches watches) {
        this.tombstones = new Tombstones<>(clock, MAX_TOMBSTONES);
        this.watches = watches;
    }

    @Nullable
    public ClaimState find(ClaimId id) {
        return live.get(id);
    }

    /** Adds a claim. Returns the existing state if the same claim is in the table already, else null. */
    @Nullable
    public ClaimState add(ClaimState claimState) {
        return live.putIfAbsent(claimState.id(), claimState);
    }

    /** Removes and ends a claim. Returns false if it was over already. */
    public boolean remove(ClaimState claimState) {
        live.remove(claimState.id(), claimState);
        boolean ended = claimState.end();
        String own = claimState.path();
        String watched = claimState.watched();
        if (own != null) {
            watches.forget(claimState, own);
        }
        if (watched != null) {
            watches.leave(claimState, watched);
        }
        return ended;
    }

    /** Removes and ends a claim, and notifies its listener. */
    public void end(ClaimState claimState, Renewed.Reason reason) {
        remove(claimState);
        OneShotListener listener = claimState.listener();
        if (listener != null) {
            listener.ended(reason);
        }
    }

    public Collection<ClaimState> all() {
        return live.values();
    }

    public int count() {
        return live.size();
    }

    /** Refuses the claim from now on, for the length of its lease. */
    public void addTombstone(Claim claim) {
        tombstones.add(claim.id(), claim.lease());
    }

    public boolean hasTombstone(ClaimId id) {
        return tombstones.has(id);
    }

    public void clear() {
        live.clear();
    }
}
