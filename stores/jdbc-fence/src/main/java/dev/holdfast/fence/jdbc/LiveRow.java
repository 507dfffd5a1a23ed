package dev.holdfast.fence.jdbc;

import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockTables;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.jdbc.sqlite.HostClock;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.store.ResourceRecord.Place;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The row of a lock as a transaction of the user's sees it, with the database's time of the statement that read it.
 *
 * @param voided whether it was written on the clock of an earlier boot, so that nothing in it is live
 */
record LiveRow(LockRow row, long now, boolean voided) {

    private static final String COLUMNS =
            "version, counter, clock, holder, held, permits, capacity, since, expires, owner, more, others";

    /** How a row is read. */
    enum Locking {
        NONE,
        SHARED,
        EXCLUSIVE
    }

    /** The grant with a counter, expired or not; empty if the row has none. */
    Optional<Place> grant(long counter) {
        if (!row.holder().equals(LockRow.NONE) && row.held() == counter) {
            Claim claim =
                    RowCodec.claim(row.name(), ClaimId.parse(row.holder()), row.permits(), row.capacity(), row.owner());
            return Optional.of(new Place(claim, counter, row.since(), row.expires()));
        }
        if (row.more() == 0) {
            return Optional.empty();
        }
        return RowCodec.parse(row.name(), row.others()).grants().stream()
                .filter(grant -> grant.counter() == counter)
                .findFirst();
    }

    boolean isLive(Place grant) {
        return !voided && grant.expires() > now;
    }

    /** The statements that read such rows in one database. */
    static final class Reader {

        private final SqlProduct product;
        private final LockTables tables;
        private final HostClock clock;
        private final @Nullable String expression;

        /**
         * @param tables the tables of the store
         * @param clock the time, where the database has none of its own
         * @param expression the time as a SQL expression, if the rows were written by the dialect for any database; else
         *     null
         */
        Reader(SqlProduct product, LockTables tables, HostClock clock, @Nullable String expression) {
            this.product = expression == null ? product : SqlProduct.OTHER;
            this.tables = tables;
            this.clock = clock;
            this.expression = expression;
        }

        /**
         * Whether a row is locked by writing it unchanged, before it is read: in SQLite, because a read first would
         * fix the snapshot of the transaction, and in an unknown database, because every database supports this.
         */
        boolean locksByWriting() {
            return product == SqlProduct.SQLITE || product == SqlProduct.OTHER;
        }

        /** Locks the row for writing; in SQLite the whole file. Waits for as long as the database does. */
        void lock(Connection connection, LockName name) throws SQLException {
            String sql = "UPDATE " + tables.lock() + " SET version = version WHERE name = ?";
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                product.names().bind(statement, 1, name.value());
                statement.executeUpdate();
            }
        }

        /** The row; null if there is none, or if it is to be locked and another transaction has it locked. */
        @Nullable
        LiveRow read(Connection connection, LockName name, Locking locking) throws SQLException {
            String sql =
                    "SELECT " + now() + ", " + COLUMNS + " FROM " + tables.lock() + " WHERE name = ?" + suffix(locking);
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                product.names().bind(statement, 1, name.value());
                try (ResultSet rows = statement.executeQuery()) {
                    return rows.next() ? liveRow(connection, name, rows) : null;
                }
            }
        }

        private LiveRow liveRow(Connection connection, LockName name, ResultSet rows) throws SQLException {
            LockRow row = new LockRow(
                    name,
                    rows.getLong(2),
                    rows.getLong(3),
                    rows.getString(5),
                    rows.getLong(6),
                    rows.getInt(7),
                    rows.getInt(8),
                    rows.getLong(9),
                    rows.getLong(10),
                    rows.getString(11),
                    rows.getInt(12),
                    rows.getString(13));
            if (product != SqlProduct.SQLITE) {
                return new LiveRow(row, rows.getLong(1), false);
            }
            boolean gone = !clock.boot().equals(rows.getString(4));
            return new LiveRow(row, gone ? 0 : clock.micros(connection, tables.schema()), gone);
        }

        // A row that another transaction has locked is skipped, and the caller tries again. The statement neither
        // waits for it nor fails, because an error would end a transaction in PostgreSQL.
        private String suffix(Locking locking) {
            if (locking == Locking.NONE) {
                return "";
            }
            if (locking == Locking.EXCLUSIVE || product == SqlProduct.H2) {
                return " FOR UPDATE SKIP LOCKED";
            }
            return product == SqlProduct.MARIADB ? " LOCK IN SHARE MODE SKIP LOCKED" : " FOR SHARE SKIP LOCKED";
        }

        // The time of the statement, never that of the beginning of the transaction. H2 has the former only in this
        // table.
        private String now() {
            return switch (product) {
                case POSTGRESQL -> "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";
                case MARIADB, MYSQL -> "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))";
                case H2 ->
                    "(SELECT CAST(EXTRACT(EPOCH FROM executing_statement_start) * 1000000 AS BIGINT)"
                            + " FROM INFORMATION_SCHEMA.SESSIONS WHERE session_id = SESSION_ID())";
                case SQLITE -> "0";
                case OTHER -> String.valueOf(expression);
            };
        }
    }
}
