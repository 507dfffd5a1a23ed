package dev.holdfast.spi;

import java.time.Duration;
import java.util.List;

/**
 * The answer to a release.
 *
 * @param wasOwner whether the claim held or waited until now
 * @param granted the claims that this release granted, in the order of the queue: the engine wakes local ones without a
 *     push or a poll. A store may leave out claims that it has told by their listeners already.
 */
public record Released(boolean wasOwner, List<Handed> granted) {

    /** A release that found the claim and granted nothing. */
    public static final Released ALONE = new Released(true, List.of());

    /** A release that found nothing to release. */
    public static final Released NOT_OWNER = new Released(false, List.of());

    public Released {
        granted = List.copyOf(granted);
    }

    /**
     * A waiting claim that was made a holder.
     *
     * @param id the claim
     * @param counter the grant's number
     * @param lease how long the grant lives from now unless its owner renews it
     */
    public record Handed(ClaimId id, long counter, Duration lease) {}
}
