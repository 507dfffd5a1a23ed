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
    /** Somebody ended the hold with a forced release, or the store has lost it. */
    BROKEN,
    /** The store could not be reached to renew the lease before it was over. */
    STORE_UNREACHABLE,
    /** The {@link Holdfast} client that acquired the lock was closed, or the election in which it was won. */
    CLOSED,
    /** Its leader gave it up, with the end of his task or by {@code resign}. Only the terms of elections end like this. */
    RESIGNED
}
