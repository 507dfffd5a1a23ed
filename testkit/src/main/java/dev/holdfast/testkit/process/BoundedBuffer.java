package dev.holdfast.testkit.process;

import dev.holdfast.FenceGuard;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The buffer of {@link BufferProcesses}, as another store would keep it: whoever uses it reads two numbers, and later writes them.
 * Nothing but a lock keeps two from doing that at once, and nothing but the fencing token keeps one that has lost its lock from
 * writing what is out of date. It also writes down what was taken. Thread-safe.
 */
final class BoundedBuffer {

    private static final String NAME = "buffer";

    private final boolean isFenced;
    private final FenceGuard fence = new FenceGuard();
    private final List<Long> log = new ArrayList<>();
    private Counts counts = new Counts(0, 0);
    private int writes;
    private int stale;

    /** @param isFenced whether writes with stale tokens are refused */
    BoundedBuffer(boolean isFenced) {
        this.isFenced = isFenced;
    }

    /** How many items were put in, and how many of them were taken. They are numbered in the order in which they were put in. */
    record Counts(long put, long taken) {}

    synchronized Counts read() {
        return counts;
    }

    /**
     * Reads what is in the buffer, with the token under which it will be written. From now on smaller tokens are refused: else
     * one that has lost its lock could write after this read and before the write that follows from it.
     *
     * @return null if the token is stale
     */
    synchronized @Nullable Counts read(long token) {
        return fence.admits(NAME, token) || !isFenced ? counts : null;
    }

    /**
     * Writes what one thinks is in the buffer now.
     *
     * @param takes whether one has taken an item, and not put one in
     * @return false if the token is stale, and nothing was written
     */
    synchronized boolean write(long token, Counts next, boolean takes) {
        if (!fence.admits(NAME, token)) {
            stale++;
            if (isFenced) {
                return false;
            }
        }
        if (takes) {
            log.add(next.taken());
        }
        counts = next;
        writes++;
        return true;
    }

    synchronized int writes() {
        return writes;
    }

    /** How often somebody wanted to write with a stale token. */
    synchronized int stale() {
        return stale;
    }

    /** What was taken, in this order: each number should be there once. */
    synchronized List<Long> log() {
        return List.copyOf(log);
    }
}
