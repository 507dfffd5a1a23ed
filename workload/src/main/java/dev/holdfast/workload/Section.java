package dev.holdfast.workload;

/** What one thread enters and leaves: one lock of one name. Used by one thread at a time. */
public interface Section {

    /** Waits until this thread holds the lock. */
    void enter() throws Exception;

    /** Gives the lock up. Fails if it was lost, as far as the library tells. */
    void leave() throws Exception;
}
