package dev.holdfast.election;

import java.time.Duration;

/**
 * The time for which a candidate leads, from its election to its end. A term that has ended is over for good: a candidate
 * that is elected again has another term, with a larger token.
 *
 * <p>Thread-safe. All methods read local memory, never the network.
 */
public interface Term {

    /**
     * The fencing token. Each later term of the election has a larger one, for as long as the store's traits promise. Only
     * the resource that a leader writes to can refuse a leader that was paused, by comparing tokens.
     */
    long token();

    /** Whether the term lasts, by the local clock, at the moment of the call. A renewal that is overdue does not end it. */
    boolean isValid();

    /** For how long the term certainly lasts if it is neither renewed nor ended; zero if it is over. */
    Duration remaining();
}
