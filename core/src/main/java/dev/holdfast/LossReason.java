package dev.holdfast;

/** Why a lock was lost. */
public enum LossReason {
    /** Its lease, or its {@code maxHold}, was over by the local clock: not renewed, or the process was paused too long. */
    EXPIRED,
    /** The store says that another client holds it. */
    TAKEN,
    /** Somebody broke it with a forced release. */
    BROKEN,
    /** The store could not be reached to renew it until its lease was over. */
    STORE_UNREACHABLE,
    /** The {@link Holdfast} that it came from was closed. */
    CLOSED
}
