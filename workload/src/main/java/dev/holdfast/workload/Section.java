package dev.holdfast.workload;

/** What one thread enters and leaves: one lock of one name. Used by one thread at a time. */
public interface Section {

    /** Waits until this thread holds the lock. */
    void enter() throws Exception;

    /** Releases the lock. Fails if it was lost and the library reports that. */
    void leave() throws Exception;
}
