package dev.holdfast;

/** What a holder can know of its lock without asking the store. */
public enum LeaseState {
    /** The lock is held, and no renewal is overdue. */
    SAFE,
    /**
     * The lock is still held by the local clock, but a renewal is overdue; {@link Lease#remaining()} says how long
     * it will last.
     */
    IN_DOUBT,
    /** The lock ended without having been released. This state is final: the lease never becomes valid again. */
    LOST,
    /** The owner has released the lock. This state is final. */
    RELEASED
}
