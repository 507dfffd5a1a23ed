package dev.holdfast.spi;

import java.time.Duration;

/** The answer to an attempt to acquire without waiting. */
public sealed interface Attempt {

    /**
     * The claim holds.
     *
     * @param counter the grant's number: for exclusive grants larger than that of every earlier grant of the name
     * @param lease how long the grant lives from the moment the store handled the request; for a repeated request, what is
     *     left of it
     */
    record Granted(long counter, Duration lease) implements Attempt {}

    /**
     * The claim does not hold, and has left nothing behind.
     *
     * @param retryAfter when the first of the present grants ends unless it is renewed; zero if that is not known
     */
    record Busy(Duration retryAfter) implements Attempt {}
}
