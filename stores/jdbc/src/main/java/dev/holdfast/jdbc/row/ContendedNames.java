package dev.holdfast.jdbc.row;

import dev.holdfast.spi.LockName;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Names that had more than a sole holder when they were last seen: the one-statement paths would be tried in vain for
 * them. A guess, which costs a statement if it is wrong. Thread-safe.
 */
public final class ContendedNames {

    /** The most names that are remembered; what comes beyond is not, which only costs a statement. */
    private static final int MOST = 1_000;

    private final Set<LockName> names = ConcurrentHashMap.newKeySet();

    public boolean contains(LockName name) {
        return !names.isEmpty() && names.contains(name);
    }

    public void saw(LockName name, boolean contended) {
        if (!contended) {
            names.remove(name);
        } else if (names.size() < MOST) {
            names.add(name);
        }
    }
}
