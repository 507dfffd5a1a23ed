package dev.holdfast.testkit.nemesis;

import dev.holdfast.FenceGuard;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The resource that the lock guards: a set that whoever holds the lock reads as a whole, and later writes as a whole with one
 * element more. Nothing but a lock keeps two from doing that at once, and nothing but the fencing token keeps one that has lost
 * its lock from overwriting the elements of others.
 *
 * <p>A version of the set is kept as its last element and the version before it, so that writing costs nothing. Thread-safe.
 */
final class SharedSet {

    /** The version that is there before anybody has written. */
    static final int EMPTY = 0;

    private static final String NAME = "set";

    private final boolean isFenced;
    private final FenceGuard fence = new FenceGuard();
    /** Each version's place is its number, and its last element; what is in the list is the version that was read for it. */
    private final List<Integer> readFor = new ArrayList<>(List.of(EMPTY));

    private int current = EMPTY;
    private int stale;

    /** @param isFenced whether stale tokens are refused */
    SharedSet(boolean isFenced) {
        this.isFenced = isFenced;
    }

    /**
     * Reads the set. From now on smaller tokens are refused: else one that has lost its lock could write after this read, and
     * before the write that follows from it.
     *
     * @return the version that is there, or null if the token is stale
     */
    synchronized @Nullable Integer read(long token) {
        return fence.admits(NAME, token) || !isFenced ? current : null;
    }

    /**
     * Writes the set as it was read, with one element more.
     *
     * @param read the version that was read
     * @return false if the token is stale, and nothing was written
     */
    synchronized boolean write(long token, int read) {
        if (!fence.admits(NAME, token)) {
            stale++;
            if (isFenced) {
                return false;
            }
        }
        current = readFor.size();
        readFor.add(read);
        return true;
    }

    /** How many writes were done. */
    synchronized int writes() {
        return readFor.size() - 1;
    }

    /** How often somebody wanted to write with a stale token. */
    synchronized int stale() {
        return stale;
    }

    /** How many of the elements that were written are not in the set. */
    synchronized int lost() {
        int there = 0;
        for (int version = current; version != EMPTY; version = readFor.get(version)) {
            there++;
        }
        return writes() - there;
    }
}
