package dev.holdfast.jdbc.row;

import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A row that a change needs is locked by a transaction that is not the store's, most likely one that asserts with a
 * fence that its lease is live. The change was not made. Calls do not wait for such a transaction, because it may
 * take minutes.
 */
public final class RowLockedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public RowLockedException(List<LockName> names, @Nullable SQLException cause) {
        super(
                "The row of one of " + names
                        + " in the table of the locks is locked by another client's transaction, or by a statement of a"
                        + " database that is very busy. Nothing was changed; try again, and keep transactions short"
                        + " that lock such rows",
                cause);
    }

    public StoreException toStoreException() {
        return StoreException.unavailable(Effect.NONE, String.valueOf(getMessage()), this);
    }
}
