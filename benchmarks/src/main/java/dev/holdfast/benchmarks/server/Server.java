package dev.holdfast.benchmarks.server;

/** A server that was started for the measurement, with the durability that one would use in production. */
public interface Server extends AutoCloseable {

    /** Where Holdfast finds it. */
    String url();

    /** Where the peers find it, in the form that they need. */
    String target();

    /** Its version, and the settings that decide what a write costs. */
    String describe();

    /** Requests that it has received from its clients so far; negative if it does not report them. */
    long requests();

    /** Processor time that the server has used so far; NaN if it is no process of its own. */
    default double cpuSeconds() {
        return Double.NaN;
    }

    /** Memory that the server's data take now; negative if it does not report it. */
    default long memoryBytes() {
        return -1;
    }

    /** Whether {@link #requests} can be read while times are taken, without changing them. */
    default boolean countsForFree() {
        return true;
    }

    /** Starts to count, if counting costs time. */
    default void startCounting() {}

    default void stopCounting() {}

    @Override
    void close();
}
