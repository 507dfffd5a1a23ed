package dev.holdfast.jdbc.row;

import dev.holdfast.spi.LockName;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Caches contended rows as one connection wrote them last. While nobody else writes such a row, a transition can
 * begin with the cached row and need not read: the write compares the version, and so finds out whether the cached
 * row was current.
 *
 * <p>A cached row is used after a read has confirmed it, and dropped after a conditional write has failed: between
 * processes that take turns every guess would be wrong, and a wrong guess costs a statement. Not thread-safe.
 */
final class RowCache {

    /** The most rows that are cached. Further rows are read each time. */
    private static final int MAX_ROWS = 100;

    private final Map<LockName, CachedRow> rows = new HashMap<>();

    private record CachedRow(LockRow row, boolean confirmed) {}

    /** The row as it most likely is in the table; null if no confirmed row is cached. */
    @Nullable
    LockRow guess(LockName name) {
        CachedRow cached = rows.get(name);
        return cached != null && cached.confirmed ? cached.row : null;
    }

    /** Drops a cached row with which a conditional write has failed. */
    void forget(LockName name) {
        rows.remove(name);
    }

    /**
     * To be called after a row was written.
     *
     * @param before the row with which the write began: one that was read, or a cached one that was current
     * @param after the row as it is in the table now
     */
    void wrote(LockRow before, LockRow after) {
        CachedRow cached = rows.get(after.name());
        boolean confirmed = cached != null && cached.row.version() == before.version();
        if (after.more() == 0) {
            rows.remove(after.name());
        } else if (cached != null || rows.size() < MAX_ROWS) {
            rows.put(after.name(), new CachedRow(after, confirmed));
        }
    }
}
