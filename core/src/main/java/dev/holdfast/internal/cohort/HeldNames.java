package dev.holdfast.internal.cohort;

import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import java.util.ArrayList;
import java.util.List;

/**
 * Which names a thread holds through {@code lock()}. They are sent with the claim of a thread that waits, so that people, and
 * a search for deadlocks, can see who waits for whom. Each thread keeps its own list, and makes a copy of it when it begins to
 * wait: what it holds cannot change until it goes on.
 */
public final class HeldNames {

    private final ThreadLocal<ArrayList<LockName>> ofThread = ThreadLocal.withInitial(() -> new ArrayList<>(2));

    /** The calling thread holds a name. */
    public void add(LockName name) {
        ofThread.get().add(name);
    }

    /** The calling thread has ended its hold of a name. */
    public void remove(LockName name) {
        ArrayList<LockName> names = ofThread.get();
        // Mostly the last one, because locks are nested.
        int at = names.lastIndexOf(name);
        if (at >= 0) {
            names.remove(at);
        }
    }

    /** The names that the calling thread holds, {@link OwnerInfo#MAX_HELD} at most. */
    public List<String> copy() {
        List<LockName> names = ofThread.get();
        return names.isEmpty()
                ? List.of()
                : names.stream().limit(OwnerInfo.MAX_HELD).map(LockName::value).toList();
    }

    /** The same but for a name that the thread is about to give up. */
    public List<String> copyWithout(LockName name) {
        return ofThread.get().stream()
                .filter(held -> !held.equals(name))
                .limit(OwnerInfo.MAX_HELD)
                .map(LockName::value)
                .toList();
    }
}
