package dev.holdfast.workload;

/** A section with a condition that all processes share. */
public interface ConditionSection extends Section {

    /** Gives up the lock, waits for a signal, and takes the lock back. */
    void await() throws Exception;

    /** Wakes the one that has waited longest. */
    void signal() throws Exception;
}
