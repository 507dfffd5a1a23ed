package dev.holdfast.spi;

import java.time.Duration;

/** The result of an attempt to acquire without waiting. */
public sealed interface Attempt {

    /**
     * The claim is granted.
     *
     * @param counter the number of the grant; that of an exclusive grant is larger than that of every earlier grant
     *     of the name
     * @param lease how long the grant lasts, counted from the moment at which the store handled the request; for a
     *     repeated request, the time that is left
     */
    record Granted(long counter, Duration lease) implements Attempt {}

    /**
     * The claim is not granted, and nothing of it is left in the store.
     *
     * @param retryAfter the time until the first of the present grants ends if it is not renewed; zero if that is
     *     not known
     */
    record Busy(Duration retryAfter) implements Attempt {}
}
