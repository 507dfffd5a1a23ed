package dev.holdfast.store.sequenced;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.StoreException;

/** The entry of a claim in the queue of its name. Immutable. */
public interface SequencedEntry {

    /** The id of the claim that the entry was made for. */
    ClaimId id();

    /** How many permits of the lock it claims; fewer after a downgrade. */
    int permits();

    /** The limit of the lock, which is its kind. */
    int limit();

    /** Whether it excludes all other claims. */
    default boolean isExclusive() {
        return permits() == limit();
    }

    /** Whether permits may be too short for it beside others like it. There is room for all readers. */
    default boolean isForPermits() {
        return !isExclusive() && (limit() != Claim.ALL || permits() > 1);
    }

    /**
     * Checks whether this entry may become that of the claim as it is asked for.
     *
     * @throws StoreException if it is asked for more permits than it has, or as another kind of lock
     */
    default void requireNoMore(Claim claim) {
        if (claim.limit() != limit() || claim.permits() > permits()) {
            throw StoreException.refused(
                    "Claim " + id() + " has " + permits() + " of " + limit() + " permits of \"" + claim.name()
                            + "\" and cannot be changed to " + claim.permits() + " of " + claim.limit(),
                    null);
        }
    }
}
