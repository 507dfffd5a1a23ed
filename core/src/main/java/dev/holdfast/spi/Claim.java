package dev.holdfast.spi;

import java.time.Duration;

/**
 * A request for a weighted grant on a named resource. The resource admits it while {@code permits <= limit -
 * granted}.
 *
 * <table>
 * <caption>Kinds</caption>
 * <tr><th>kind</th><th>limit</th><th>permits</th></tr>
 * <tr><td>mutex</td><td>1</td><td>1</td></tr>
 * <tr><td>read lock</td><td>{@link #ALL}</td><td>1</td></tr>
 * <tr><td>write lock</td><td>{@link #ALL}</td><td>{@link #ALL}</td></tr>
 * <tr><td>semaphore of n</td><td>n</td><td>k</td></tr>
 * <tr><td>wait set</td><td>0</td><td>1: it is never admitted, it can only be ended</td></tr>
 * </table>
 *
 * @param name the resource
 * @param id the id of this attempt
 * @param permits how much of the resource is claimed: 1 to {@code limit} (1 for a wait set)
 * @param limit how much the resource has in all; a claim whose limit differs from that of the live grants or waiters is
 *     refused with {@link KindConflictException}
 * @param lease how long the grant lasts if it is not renewed: {@link #MIN_LEASE} to {@link #MAX_LEASE}
 * @param owner who makes the claim, as information for people
 * @param repeated whether an acquire of this id was sent more than once, or may be by the time of its release. A
 *     copy of the request may then still be on its way to the store when the claim is released, so the release must
 *     leave a tombstone (law 4). A claim that was sent once and answered needs no tombstone, which is why the
 *     common release costs nothing extra.
 */
public record Claim(
        LockName name, ClaimId id, int permits, int limit, Duration lease, OwnerInfo owner, boolean repeated) {

    /** The limit of a read-write resource, and the permits of its write lock. No sum of permits can overflow an int. */
    public static final int ALL = 1 << 24;

    /** The most permits that a semaphore can have. */
    public static final int MAX_SEMAPHORE = ALL - 1;

    /** The shortest lease that a claim may have. */
    public static final Duration MIN_LEASE = Duration.ofMillis(100);

    /** The longest lease that a claim may have. */
    public static final Duration MAX_LEASE = Duration.ofHours(24);

    /** @throws IllegalArgumentException if the limit, the permits or the lease is out of its range */
    public Claim {
        if (limit < 0 || limit > ALL) {
            throw new IllegalArgumentException(
                    "The limit of \"" + name + "\" must be 0 (a wait set) to " + ALL + ", but was " + limit);
        }
        int most = Math.max(1, limit);
        if (permits < 1 || permits > most) {
            throw new IllegalArgumentException(
                    "The permits claimed of \"" + name + "\" must be 1 to " + most + ", but were " + permits);
        }
        checkLease(lease);
    }

    /** A claim that has not been sent yet. */
    public Claim(LockName name, ClaimId id, int permits, int limit, Duration lease, OwnerInfo owner) {
        this(name, id, permits, limit, lease, owner, false);
    }

    /**
     * Checks a lease before anything is sent.
     *
     * @return the same lease
     * @throws IllegalArgumentException if it is shorter than {@link #MIN_LEASE} or longer than {@link #MAX_LEASE}
     */
    public static Duration checkLease(Duration lease) {
        if (lease.compareTo(MIN_LEASE) < 0 || lease.compareTo(MAX_LEASE) > 0) {
            throw new IllegalArgumentException("A lease must be " + MIN_LEASE.toMillis() + " ms to "
                    + MAX_LEASE.toHours() + " h, but was " + lease);
        }
        return lease;
    }

    /** Whether no other claim can be granted while this one is. */
    public boolean isExclusive() {
        return permits == limit;
    }

    /** Whether this claim belongs to a wait set: it is never admitted, it can only be ended. */
    public boolean isWaitSet() {
        return limit == 0;
    }

    /** The same claim, marked as one whose acquire was, or may be, sent more than once. */
    public Claim again() {
        return repeated ? this : new Claim(name, id, permits, limit, lease, owner, true);
    }

    /** The same claim with another lease, to renew for longer or shorter than before. */
    public Claim withLease(Duration newLease) {
        return new Claim(name, id, permits, limit, newLease, owner, repeated);
    }

    /** The same claim with another owner, as the one behind it has changed. */
    public Claim withOwner(OwnerInfo newOwner) {
        return new Claim(name, id, permits, limit, lease, newOwner, repeated);
    }

    /** The same claim with fewer permits, to shrink a grant. */
    public Claim withPermits(int newPermits) {
        return newPermits == permits ? this : new Claim(name, id, newPermits, limit, lease, owner, repeated);
    }
}
