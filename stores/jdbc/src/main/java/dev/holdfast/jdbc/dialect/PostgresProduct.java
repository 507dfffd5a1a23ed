package dev.holdfast.jdbc.dialect;

import dev.holdfast.spi.StoreException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The databases that PostgreSQL's driver reaches. The driver calls all of them PostgreSQL; what {@code version()} returns tells them
 * apart.
 */
public enum PostgresProduct {
    POSTGRESQL("PostgreSQL"),
    /** Its versions look like {@code CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, ...)}. */
    COCKROACHDB("CockroachDB"),
    /** Its versions look like {@code PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu, ...}. */
    YUGABYTEDB("YugabyteDB");

    private static final Pattern COCKROACH_VERSION = Pattern.compile("CockroachDB \\S+ v(\\d+)\\.(\\d+)\\b.*");

    /** The first version of CockroachDB that can skip locked rows: 22.2. */
    private static final int COCKROACH_THAT_SKIPS = 22_002;

    private final String label;

    PostgresProduct(String label) {
        this.label = label;
    }

    /** Its name, for people. */
    public String label() {
        return label;
    }

    /** Asks a server for its version. */
    public static String version(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT version()")) {
            return rows.next() ? String.valueOf(rows.getString(1)) : "";
        }
    }

    /** The database that returns this version. */
    public static PostgresProduct of(String version) {
        if (version.startsWith("CockroachDB")) {
            return COCKROACHDB;
        }
        return version.contains("-YB-") ? YUGABYTEDB : POSTGRESQL;
    }

    /**
     * Refuses a server that lacks what all statements need.
     *
     * @param where the database, for the message
     * @throws StoreException if it does
     */
    public void require(String version, String where) {
        Matcher number = COCKROACH_VERSION.matcher(version);
        if (this == COCKROACHDB
                && number.matches()
                && 1_000 * Integer.parseInt(number.group(1)) + Integer.parseInt(number.group(2))
                        < COCKROACH_THAT_SKIPS) {
            throw StoreException.refused(
                    where + " is of version " + version
                            + ", which cannot skip locked rows, so that locks would wait for each other. Use CockroachDB 22.2 or"
                            + " newer",
                    null);
        }
    }
}
