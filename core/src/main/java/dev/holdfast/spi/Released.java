package dev.holdfast.spi;

import java.util.List;

/**
 * The result of a release.
 *
 * @param wasOwner whether the claim held or waited until now
 * @param granted the claims that this release granted, in the order of the queue, so that the engine can wake local
 *     ones without a push or a poll. A store may leave out claims whose listeners it has notified already.
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
     * A waiting claim that was granted.
     *
     * @param id the claim
     * @param granted its grant, whose lease counts from now
     */
    public record Handed(ClaimId id, Granted granted) {}
}
