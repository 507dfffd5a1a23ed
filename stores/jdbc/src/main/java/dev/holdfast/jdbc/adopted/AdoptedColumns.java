package dev.holdfast.jdbc.adopted;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * What the database says about the columns of a table of other programs.
 *
 * @param maxName the longest name in the column of the names
 * @param maxOwner the longest text in the column of the owner; 0 if there is none
 * @param ownerMayBeNull whether the column of the owner admits NULL
 * @param flag how the flag is read and written
 * @param mayInsert whether a row can be inserted with the columns that were named alone
 * @param now the time of the statement in the form of the column of the time; null if there is none
 * @param timeType the type of the column of the time as JDBC reports its name; empty if there is none
 * @param hasSummerTime whether its times have no zone and are those of the session's, in which an hour can be missing
 */
public record AdoptedColumns(
        long maxName,
        long maxOwner,
        boolean ownerMayBeNull,
        Flag flag,
        boolean mayInsert,
        @Nullable String now,
        String timeType,
        boolean hasSummerTime) {

    /** How a flag is kept. */
    public enum Flag {
        /** As {@code true} or {@code false}. */
        BOOLEAN {
            @Override
            public void bind(PreparedStatement statement, int index, String value) throws SQLException {
                statement.setBoolean(index, isTrue(value));
            }

            @Override
            public boolean isSame(String one, String other) {
                return isTrue(one) == isTrue(other);
            }

            private boolean isTrue(String value) {
                return value.equals("1") || value.equalsIgnoreCase("true");
            }

            @Override
            public boolean has(String value) {
                return value.matches("(?i)0|1|true|false");
            }
        },
        /** As a whole number. */
        NUMBER {
            @Override
            public void bind(PreparedStatement statement, int index, String value) throws SQLException {
                statement.setLong(index, Long.parseLong(value));
            }

            @Override
            public boolean isSame(String one, String other) {
                return Long.parseLong(one) == Long.parseLong(other);
            }

            @Override
            public boolean has(String value) {
                return value.matches("-?[0-9]{1,18}");
            }
        },
        /** As text. */
        TEXT {
            @Override
            public void bind(PreparedStatement statement, int index, String value) throws SQLException {
                statement.setString(index, value);
            }

            // Blanks at the end are not kept in CHAR. What else is the same depends on the column.
            @Override
            public boolean isSame(String one, String other) {
                return one.stripTrailing().equals(other.stripTrailing());
            }

            @Override
            public boolean has(String value) {
                return true;
            }
        };

        /** Sets a parameter. */
        public abstract void bind(PreparedStatement statement, int index, String value) throws SQLException;

        /** Whether a column of this kind can have a value. */
        public abstract boolean has(String value);

        /** Whether two values that it can have are the same in every column of this kind. */
        public abstract boolean isSame(String one, String other);
    }
}
