package dev.holdfast.jdbc.row;

import dev.holdfast.spi.LockName;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Names about which something was true when they were last seen: a guess that saves a statement or a wait if it still
 * is. Thread-safe.
 */
public final class RememberedNames {

    /** The most names that are remembered. Then all are forgotten: with new names all the time, most of them do not come again. */
    private static final int MAX_NAMES = 10_000;

    private final Set<LockName> names = ConcurrentHashMap.newKeySet();

    public boolean contains(LockName name) {
        return !names.isEmpty() && names.contains(name);
    }

    public void saw(LockName name, boolean isTrue) {
        if (!isTrue) {
            names.remove(name);
        } else if (names.add(name) && names.size() > MAX_NAMES) {
            names.clear();
            names.add(name);
        }
    }
}
