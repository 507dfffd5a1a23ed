package dev.holdfast.internal.cohort;

/** How a claim is made in the store. */
enum Mode {
    /** It takes a place in the store's queue. */
    QUEUE,
    /** It is tried again and again, after pauses that a hint of the store may end. */
    SPIN,
    /** It is tried until the store has answered once. */
    ONCE
}
