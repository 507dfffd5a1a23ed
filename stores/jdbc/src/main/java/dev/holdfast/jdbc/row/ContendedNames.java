package dev.holdfast.jdbc.row;

import dev.holdfast.spi.LockName;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Names that had more than a sole holder when they were last read: for them the one-statement paths would be tried
 * in vain. This is a guess, which costs a statement if it is wrong. Thread-safe.
 */
public final class ContendedNames {

    /** The most names that are remembered. Each name beyond this limit only costs a statement. */
    private static final int MAX_NAMES = 1_000;

    private final Set<LockName> names = ConcurrentHashMap.newKeySet();

    public boolean contains(LockName name) {
        return !names.isEmpty() && names.contains(name);
    }

    public void saw(LockName name, boolean contended) {
        if (!contended) {
            names.remove(name);
        } else if (names.size() < MAX_NAMES) {
            names.add(name);
        }
    }
}
