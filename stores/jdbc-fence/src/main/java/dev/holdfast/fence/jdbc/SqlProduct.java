package dev.holdfast.fence.jdbc;

import dev.holdfast.jdbc.row.NameEncoding;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Set;
import org.h2.api.ErrorCode;

/**
 * The database of a user's connection, as far as its SQL differs. The driver knows it without a call to the server.
 */
enum SqlProduct {
    POSTGRESQL,
    MARIADB,
    MYSQL,
    H2,
    SQLITE,
    OTHER;

    /** Deadlock, concurrent update, duplicate key, lock time-out. */
    private static final Set<Integer> H2_CONFLICTS = Set.of(
            ErrorCode.DEADLOCK_1,
            ErrorCode.CONCURRENT_UPDATE_1,
            ErrorCode.LOCK_TIMEOUT_1,
            ErrorCode.ROW_NOT_FOUND_WHEN_DELETING_1);

    private static final int SQLITE_BUSY = 5;
    private static final int SQLITE_LOCKED = 6;
    private static final int MYSQL_LOCK_WAIT_TIMEOUT = 1205;

    static SqlProduct of(Connection connection) throws SQLException {
        DatabaseMetaData metadata = connection.getMetaData();
        String name = String.valueOf(metadata.getDatabaseProductName()).toLowerCase(Locale.ROOT);
        return switch (name) {
            case "postgresql" -> POSTGRESQL;
            case "mariadb" -> MARIADB;
            // MySQL's driver also returns this name for a server of MariaDB.
            case "mysql" ->
                String.valueOf(metadata.getDatabaseProductVersion())
                                .toLowerCase(Locale.ROOT)
                                .contains("mariadb")
                        ? MARIADB
                        : MYSQL;
            case "h2" -> H2;
            case "sqlite" -> SQLITE;
            default -> OTHER;
        };
    }

    /** How names are encoded in the store's rows. */
    NameEncoding names() {
        return switch (this) {
            case POSTGRESQL, SQLITE -> NameEncoding.TEXT;
            case MARIADB, MYSQL, H2 -> NameEncoding.BYTES;
            case OTHER -> NameEncoding.DIGITS;
        };
    }

    /**
     * Whether a transaction certainly had no effect because another came first, so that all of it may be run again.
     */
    boolean isConflict(SQLException failure) {
        String state = String.valueOf(failure.getSQLState());
        // 40003: the database does not know whether the statement was completed.
        boolean standard = state.startsWith("40") && !state.equals("40003");
        return standard
                || switch (this) {
                    case POSTGRESQL -> state.equals("55P03");
                    case MARIADB, MYSQL -> failure.getErrorCode() == MYSQL_LOCK_WAIT_TIMEOUT;
                    case H2 -> H2_CONFLICTS.contains(failure.getErrorCode());
                    case SQLITE -> isSqliteBusy(failure.getErrorCode());
                    case OTHER -> false;
                };
    }

    /** Whether a statement failed because a table does not exist. */
    boolean isMissingTable(SQLException failure) {
        String state = String.valueOf(failure.getSQLState());
        return switch (this) {
            case POSTGRESQL -> state.equals("42P01");
            case SQLITE -> String.valueOf(failure.getMessage()).contains("no such table");
            default -> state.startsWith("42S0");
        };
    }

    private static boolean isSqliteBusy(int code) {
        int primary = code & 0xff;
        return code > 0 && (primary == SQLITE_BUSY || primary == SQLITE_LOCKED);
    }
}
