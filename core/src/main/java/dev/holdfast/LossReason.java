package dev.holdfast;

/** Why a lock was lost. */
public enum LossReason {
    /**
     * Its lease or its {@code maxHold} was over by the local clock: it was not renewed, or the process was paused
     * too long.
     */
    EXPIRED,
    /** The store reports that another client holds the lock. */
    TAKEN,
    /** Somebody ended the hold with a forced release. */
    BROKEN,
    /** The store could not be reached to renew the lease before it was over. */
    STORE_UNREACHABLE,
    /** The {@link Holdfast} client that acquired the lock was closed. */
    CLOSED
}
