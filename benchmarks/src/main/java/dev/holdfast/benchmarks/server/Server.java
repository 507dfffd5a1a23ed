package dev.holdfast.benchmarks.server;

/** A server that was started for the measurement, as one would run it in production as far as durability goes. */
public interface Server extends AutoCloseable {

    /** Where Holdfast finds it. */
    String url();

    /** Where the peers find it, in the form that they want. */
    String target();

    /** Its version, and the settings that decide what a write costs. */
    String describe();

    /** Requests that it has received from its clients so far; negative if it does not tell. */
    long requests();

    /** Processor time that the server has used so far; NaN if it is no process of its own. */
    default double cpuSeconds() {
        return Double.NaN;
    }

    /** Memory that the server's data take now; negative if it does not tell. */
    default long memoryBytes() {
        return -1;
    }

    /** Whether {@link #requests} can be read while times are taken, without changing them. */
    default boolean countsForFree() {
        return true;
    }

    /** Starts to count, where that is not free. */
    default void startCounting() {}

    default void stopCounting() {}

    @Override
    void close();
}
