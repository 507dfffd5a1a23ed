package dev.holdfast;

/** What a holder can know of its lock without asking the store. */
public enum LeaseState {
    /** Held, and renewed in time if it is renewed at all. */
    SAFE,
    /** Still held by the local clock, but a renewal is overdue; {@link Lease#remaining()} says how long it will last. */
    IN_DOUBT,
    /** Over without having been released. Final: it never becomes valid again. */
    LOST,
    /** Released by its owner. Final. */
    RELEASED
}
