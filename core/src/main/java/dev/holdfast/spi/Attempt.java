package dev.holdfast.spi;

import java.time.Duration;

/** The result of an attempt to acquire without waiting: {@link Granted}, or busy. */
public sealed interface Attempt permits Granted, Attempt.Busy {

    /**
     * The claim is not granted, and nothing of it is left in the store.
     *
     * @param retryAfter the time until the first of the present grants ends if it is not renewed; zero if that is
     *     not known
     */
    record Busy(Duration retryAfter) implements Attempt {}
}
