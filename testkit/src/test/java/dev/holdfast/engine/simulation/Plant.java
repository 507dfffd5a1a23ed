package dev.holdfast.engine.simulation;

/** A mistake that is planted in a world, and that the simulation must find. */
enum Plant {
    /** Nothing is wrong. */
    NONE,
    /** The clocks of clients run slower than the margin allows, so that holders believe too long that they hold. */
    SLOW_CLOCKS,
    /**
     * A race in a store: some renewals are confirmed before they are written, and then are not written, as when a server fails over
     * between the two.
     */
    RENEWAL_CONFIRMED_BEFORE_IT_IS_WRITTEN,
    /** A race in a store: some claims are granted by what was read before another one was granted. */
    GRANTED_BY_AN_OLD_READ,
    /** A wake-up is lost: now and then a piece of a client's work is never done. */
    WORK_IS_LOST,
    /** Threads of a process are equal, so that a table of threads takes one for another. One thread alone cannot show that. */
    THREADS_ARE_CONFUSED,
    /** Now and then a thread is not interrupted, so that a leader works on when its term has ended. Only an election can show that. */
    INTERRUPTS_ARE_LOST
}
