package dev.holdfast.fence.jdbc;

import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import dev.holdfast.jdbc.config.SqlName;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.Collectors;

/**
 * A table of the user's whose rows have the fencing token of their last writer in a column, and refuse every write
 * of an earlier holder.
 *
 * <pre>{@code
 * // ALTER TABLE stock ADD COLUMN fence BIGINT NOT NULL DEFAULT 0
 * FencedTable stock = FencedTable.of("stock", "fence", "sku");
 *
 * try (Lease lease = locks.lock("stock:" + sku).acquire()) {
 *     stock.row(sku).update(connection, lease.token(), "quantity = quantity - ?, seller = ?", 1, "A");
 * }
 * }</pre>
 *
 * <p>The write is {@code UPDATE stock SET quantity = .., fence = ? WHERE sku = ? AND COALESCE(fence, 0) <= ?}: compared and
 * written in one statement, so that it is safe in autocommit too, and at every isolation level.
 *
 * <p><b>Guarantee.</b> Once a write with a token has been committed, no write with a smaller one through this class succeeds.
 * Until it is committed, writes to the same row wait for it. Works with the tokens of every store that Holdfast has: Redis,
 * ZooKeeper and so on.
 *
 * <p><b>Not guaranteed.</b> Writes that do not go through this class are not compared. Until a later holder writes,
 * an earlier one still can: the first write of a holder puts its token into the table. A row that does not exist yet
 * has no token to compare: to fence inserts use {@link JdbcFence#advance}. Tokens of shared grants (read locks,
 * semaphores) have no order among each other: of two live holders the one with the smaller token is refused. For
 * those use {@link JdbcFence#requireLive}. If the lock moves to another store, whose tokens may be smaller, set the
 * column to 0.
 *
 * <p>Names of tables and columns are checked; see {@link #of}. The assignments are SQL and are not: never build them from
 * input. Immutable and thread-safe; connections are the caller's.
 */
public final class FencedTable {

    /** How often a write is tried if the row changes between the write and the read that looks for the cause. */
    private static final int MAX_LOOKS = 3;

    private final SqlName table;
    private final SqlName fence;
    private final List<SqlName> keys;

    private FencedTable(SqlName table, SqlName fence, List<SqlName> keys) {
        this.table = table;
        this.fence = fence;
        this.keys = keys;
    }

    /**
     * A table of the user's.
     *
     * @param table its name, with or without a schema: letters, digits and {@code _}, or in quotes
     * @param fence the column of the token, a 64-bit number; NULL counts as 0
     * @param keys the columns of a key, which together are unique
     * @throws IllegalArgumentException if a name is not one, or a column is named twice
     */
    public static FencedTable of(String table, String fence, String... keys) {
        FencedTable fenced = new FencedTable(SqlName.table(table), SqlName.column(fence), SqlName.columns(keys));
        if (fenced.keys.stream().anyMatch(fenced.fence::isSame)) {
            throw new IllegalArgumentException("The column " + fence + " cannot be key and fence at once");
        }
        return fenced;
    }

    /**
     * One of its rows, whether it exists or not.
     *
     * @param keyValues a value for each key column, not null
     * @throws IllegalArgumentException if there are more or fewer values than key columns
     */
    public Row row(Object... keyValues) {
        return new Row(RowKey.of(keys, keyValues));
    }

    /** A row of the table. Immutable. */
    public final class Row {

        private final RowKey key;

        private Row(RowKey key) {
            this.key = key;
        }

        /**
         * Writes the row, unless a later holder did before.
         *
         * @param connection in autocommit mode or in a transaction of the caller's, which this neither begins nor ends
         * @param token the fencing token of an exclusive grant
         * @param assignments what is set, in SQL, with {@code ?} for values: {@code "quantity = quantity - ?, seller = ?"}
         * @param values the values, as {@link PreparedStatement#setObject(int, Object)} takes them
         * @throws LockLostException if the row was written with a larger token; nothing was written
         * @throws NoSuchElementException if there is no such row
         * @throws IllegalArgumentException if the token is not positive, or there are no assignments
         * @throws SQLException the failure of the database, unchanged
         */
        public void update(Connection connection, long token, String assignments, Object... values)
                throws SQLException {
            if (assignments.isBlank()) {
                throw new IllegalArgumentException(
                        "Say what is to be set, as in \"quantity = quantity - ?\", or use advance");
            }
            write(connection, token, assignments + ", ", values);
        }

        /**
         * Writes the token only, so that the statements that follow in the same transaction need not compare: the row
         * stays locked until it ends, and earlier holders are refused afterwards.
         *
         * @throws IllegalStateException if the connection is in autocommit mode: the row would not stay locked
         * @throws LockLostException if the row was written with a larger token; roll back
         * @throws NoSuchElementException if there is no such row
         */
        public void advance(Connection connection, long token) throws SQLException {
            JdbcFence.requireTransaction(connection);
            write(connection, token, "", new Object[0]);
        }

        private void write(Connection connection, long token, String assignments, Object[] values) throws SQLException {
            JdbcFence.checkToken(token);
            String sql = "UPDATE " + table + " SET " + assignments + fence + " = ? WHERE " + key.condition()
                    + " AND COALESCE(" + fence + ", 0) <= ?";
            for (int look = 1; look <= MAX_LOOKS; look++) {
                int written = update(connection, sql, token, values);
                if (written == 1) {
                    return;
                }
                if (written > 1) {
                    throw new IllegalStateException("Table " + table + " has " + written + " rows with " + key
                            + ", and all were written. Roll back, and give the columns of a unique key");
                }
                requireFresh(connection, token);
            }
            throw new SQLException(
                    "The row " + key + " of table " + table + " was changed by others each time that it was looked at,"
                            + " or the driver does not count rows that a statement leaves as they were"
                            + " (useAffectedRows=true of MySQL's drivers, which must be off). Nothing was written",
                    "40001");
        }

        private int update(Connection connection, String sql, long token, Object[] values) throws SQLException {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                int index = 1;
                for (Object value : values) {
                    statement.setObject(index++, value);
                }
                statement.setLong(index++, token);
                index = key.bind(statement, index);
                statement.setLong(index, token);
                return statement.executeUpdate();
            }
        }

        // Throws the reason why nothing was written, if there is one.
        private void requireFresh(Connection connection, long token) throws SQLException {
            // In MariaDB and MySQL a plain read, unlike the update, shows the state at the beginning of the
            // transaction.
            SqlProduct product = SqlProduct.of(connection);
            boolean readsSnapshot = product == SqlProduct.MARIADB || product == SqlProduct.MYSQL;
            String sql = "SELECT " + fence + " FROM " + table + " WHERE " + key.condition()
                    + (readsSnapshot ? " FOR UPDATE" : "");
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                key.bind(statement, 1);
                try (ResultSet rows = statement.executeQuery()) {
                    if (!rows.next()) {
                        throw new NoSuchElementException("Table " + table + " has no row with " + key
                                + ", so there is nothing to compare token " + token
                                + " with. To fence inserts, use JdbcFence.advance");
                    }
                    long last = rows.getLong(1);
                    if (last > token) {
                        throw stale("the row " + key + " of table " + table, token, last);
                    }
                }
            }
        }

        @Override
        public String toString() {
            return table + "[" + key + "]";
        }
    }

    /** The exception for a token that is smaller than that of a later holder. */
    static LockLostException stale(String what, long token, long last) {
        return new LockLostException(
                "Token " + token + " is stale: " + what + " was written with token " + last
                        + " already. The lock was lost to a later holder; roll back, and do not repeat the work without the"
                        + " lock. (Tokens of shared grants, of read locks and semaphores, cannot be compared: for those use"
                        + " JdbcFence.requireLive)",
                LossReason.TAKEN);
    }

    @Override
    public String toString() {
        return "FencedTable[" + table + ", fence " + fence + ", key "
                + keys.stream().map(SqlName::text).collect(Collectors.joining(", ")) + "]";
    }
}
