package dev.holdfast.jdbc.row;

import dev.holdfast.spi.LockName;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Contended rows as one connection wrote them last. While nobody else writes such a row, a transition can begin with what
 * is known here and need not read: the write tells by the version whether that was right.
 *
 * <p>A row is believed in only after a read has found it unchanged, and no longer once a write has not: between processes
 * that take turns every guess would be wrong, and a guess costs a statement. Not thread-safe.
 */
final class RowCache {

    /** The most rows that are kept; what comes beyond is read each time. */
    private static final int MOST = 100;

    private final Map<LockName, Recent> rows = new HashMap<>();

    private record Recent(LockRow row, boolean undisturbed) {}

    /** The row as it most likely is; null if there is no good guess. */
    @Nullable
    LockRow guess(LockName name) {
        Recent recent = rows.get(name);
        return recent != null && recent.undisturbed ? recent.row : null;
    }

    /** The guess was wrong. */
    void forget(LockName name) {
        rows.remove(name);
    }

    /**
     * A row was written.
     *
     * @param before what the write began with: a read, or a guess that has proved right
     * @param after what is in the table now
     */
    void wrote(LockRow before, LockRow after) {
        Recent recent = rows.get(after.name());
        boolean undisturbed = recent != null && recent.row.version() == before.version();
        if (after.more() == 0) {
            rows.remove(after.name());
        } else if (recent != null || rows.size() < MOST) {
            rows.put(after.name(), new Recent(after, undisturbed));
        }
    }
}
