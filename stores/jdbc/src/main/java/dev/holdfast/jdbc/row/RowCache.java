package dev.holdfast.jdbc.row;

import dev.holdfast.spi.LockName;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Caches contended rows as one connection wrote them last. While nobody else writes to the file, a transition can begin with the
 * cached row and need not read it. The number with which SQLite counts the commits of other connections shows whether that is so; the
 * write compares the version of the row besides, since somebody may commit between the two. Not thread-safe.
 */
final class RowCache {

    /** The most rows that are cached. Further rows are read each time. */
    private static final int MAX_ROWS = 100;

    /** The number of the commits of others where it is not known. No row is used that was cached with it. */
    static final long UNKNOWN = -1;

    private final Map<LockName, CachedRow> rows = new HashMap<>();

    private record CachedRow(LockRow row, long commits) {}

    boolean contains(LockName name) {
        return rows.containsKey(name);
    }

    /**
     * The row as it most likely is in the table; null if it is not cached.
     *
     * @param commits the present number of the commits of others; not {@link #UNKNOWN}
     */
    @Nullable
    LockRow guess(LockName name, long commits) {
        CachedRow cached = rows.get(name);
        return cached != null && cached.commits == commits ? cached.row : null;
    }

    /** Drops a cached row with which a conditional write has failed. */
    void forget(LockName name) {
        rows.remove(name);
    }

    /**
     * To be called after a row was written.
     *
     * @param row the row as it is in the table now
     * @param commits the number of the commits of others before the row was read
     */
    void wrote(LockRow row, long commits) {
        if (rows.containsKey(row.name()) || rows.size() < MAX_ROWS) {
            rows.put(row.name(), new CachedRow(row, commits));
        }
    }
}
