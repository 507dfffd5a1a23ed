package dev.holdfast.jdbc.schema;

import dev.holdfast.jdbc.adopted.AdoptedColumns;
import dev.holdfast.jdbc.adopted.AdoptedColumns.Flag;
import dev.holdfast.jdbc.config.AdoptedLayout;
import dev.holdfast.jdbc.config.AdoptedLayout.Form;
import dev.holdfast.jdbc.config.SqlName;
import dev.holdfast.jdbc.row.ColumnType.Kind;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockTables;
import dev.holdfast.spi.StoreException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Checks the table of other programs before the first lock is taken in it. */
public final class AdoptedSchema {

    /** A claim's id, with what is before it, is not longer unless a program makes ids of its own. */
    private static final int LEAST_OWNER = 40;

    private final Dialect dialect;
    private final String where;
    private final AdoptedLayout layout;
    private final ActualTable table;

    private AdoptedSchema(Dialect dialect, String where, AdoptedLayout layout, ActualTable table) {
        this.dialect = dialect;
        this.where = where;
        this.layout = layout;
        this.table = table;
    }

    /**
     * Reads what the database says about the table.
     *
     * @param where the database, for messages
     * @throws StoreException if locks cannot be shared in it
     */
    public static AdoptedColumns read(Connection connection, Dialect dialect, String where, AdoptedLayout layout)
            throws SQLException {
        ActualTable table = dialect.canAdopt()
                ? ActualTable.read(
                        connection, dialect, new LockTables(layout.table().text(), "", ""))
                : null;
        if (!dialect.canAdopt()) {
            throw StoreException.refused(
                    where + ": layout=" + layout.form() + " works in PostgreSQL, MariaDB, MySQL and H2 only", null);
        }
        if (table == null || table.columns().isEmpty()) {
            throw StoreException.refused(
                    where + " has no table " + layout.table()
                            + " that its driver describes. Name in theirTable the table in"
                            + " which the other programs keep their locks, with its schema if need be",
                    null);
        }
        return new AdoptedSchema(dialect, where, layout, table).read(connection);
    }

    private AdoptedColumns read(Connection connection) throws SQLException {
        String engine = dialect.engineWithoutTransactions(connection, table.place());
        if (engine != null) {
            throw wrong(
                    "its engine is " + engine + ", which has no transactions, so that half of a change could remain",
                    """
                    ALTER TABLE %s ENGINE = InnoDB""".formatted(layout.table()));
        }
        ActualTable.Column name = text("nameColumn", layout.name());
        tryToRead(connection);
        if (!isUnique(connection.getMetaData(), lower(layout.name()))) {
            throw wrong(
                    "column " + layout.name() + " is not unique by itself, so that two programs could have one lock",
                    "ALTER TABLE " + layout.table() + " ADD UNIQUE (" + layout.name() + ")");
        }
        SqlName ownerName = layout.owner();
        ActualTable.Column owner = ownerName == null ? null : text("ownerColumn", ownerName);
        if (owner != null && owner.type().size() < LEAST_OWNER) {
            throw wrong(
                    "column " + ownerName + " is " + owner.type() + ", too short for the id of a claim",
                    "make it " + LEAST_OWNER + " characters or longer, or leave ownerColumn out");
        }
        return new AdoptedColumns(
                name.type().size(),
                owner == null ? 0 : owner.type().size(),
                owner != null && !owner.notNull(),
                flag(connection),
                mayInsert(),
                now(),
                timeType(),
                timeType().length() > 0
                        && Boolean.FALSE.equals(layout.isUtc())
                        && dialect.timeIn(timeType(), null) == null);
    }

    // The driver describes a column whatever quotes are around its name. The alias makes a text in the wrong ones a
    // mistake.
    private void tryToRead(Connection connection) throws SQLException {
        String columns = Stream.of(layout.name(), layout.flag(), layout.owner(), layout.time())
                .filter(column -> column != null && table.columns().containsKey(lower(column)))
                .map(column -> "a." + column)
                .collect(Collectors.joining(", "));
        String sql = "SELECT " + columns + " FROM " + layout.table() + " a WHERE 1 = 0";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.executeQuery().close();
        } catch (SQLException failure) {
            if (dialect.breaksConnection(failure)) {
                throw failure;
            }
            throw wrong(
                    "it cannot be read with " + sql + " (" + failure.getMessage() + ")",
                    "put names in the quotes of the database (` in MariaDB and MySQL, \" in the others), with capitals as they"
                            + " are in the table, and grant SELECT, INSERT, UPDATE and DELETE on it");
        }
    }

    private Flag flag(Connection connection) throws SQLException {
        SqlName name = layout.flag();
        if (name == null) {
            return Flag.TEXT;
        }
        ActualTable.Column column = column("flagColumn", name);
        Flag flag = flag(column);
        for (String value : new String[] {layout.free(), layout.held()}) {
            if (flag == null || !flag.has(value)) {
                throw wrong(
                        "column " + name + " is " + column.type() + ", which has no value \"" + value + "\"",
                        "use a column of whole numbers, texts or truth values, and say its values in free and held");
            }
        }
        Flag known = flag == null ? Flag.TEXT : flag;
        if (known.isSame(layout.free(), layout.held()) || isSame(connection, name, known)) {
            throw wrong(
                    "column " + name + " is " + column.type() + ", for which free (\"" + layout.free()
                            + "\") and held (\"" + layout.held()
                            + "\") are the same, so that a held lock would be free",
                    "say two different values in free and held");
        }
        return known;
    }

    // UNION removes what the column takes for equal.
    private boolean isSame(Connection connection, SqlName column, Flag flag) throws SQLException {
        String sql = "SELECT COUNT(*) FROM (SELECT " + column + " FROM " + layout.table()
                + " WHERE 1 = 0 UNION SELECT ? UNION SELECT ?) a";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            flag.bind(statement, 1, layout.free());
            flag.bind(statement, 2, layout.held());
            try (ResultSet rows = statement.executeQuery()) {
                return !rows.next() || rows.getInt(1) != 2;
            }
        }
    }

    private static @Nullable Flag flag(ActualTable.Column column) {
        return switch (column.jdbcType()) {
            case Types.BOOLEAN -> Flag.BOOLEAN;
            // PostgreSQL reports its boolean so; MariaDB and MySQL report TINYINT(1) so.
            case Types.BIT ->
                column.typeName().equals("bool")
                        ? Flag.BOOLEAN
                        : column.typeName().equals("bit") ? null : Flag.NUMBER;
            case Types.TINYINT, Types.SMALLINT, Types.INTEGER, Types.BIGINT, Types.NUMERIC, Types.DECIMAL ->
                Flag.NUMBER;
            case Types.CHAR, Types.VARCHAR, Types.NCHAR, Types.NVARCHAR, Types.LONGVARCHAR -> Flag.TEXT;
            default -> null;
        };
    }

    private String timeType() {
        SqlName name = layout.time();
        return name == null ? "" : column("timeColumn", name).typeName();
    }

    private @Nullable String now() {
        SqlName name = layout.time();
        if (name == null) {
            return null;
        }
        ActualTable.Column column = column("timeColumn", name);
        String now = dialect.timeIn(column.typeName(), layout.isUtc());
        if (now == null) {
            throw wrong(
                    "column " + name + " is " + column.typeName() + ", which does not say what time it means",
                    "if it has date and time without a zone, say timeZone=utc if the programs write UTC, or timeZone=session if"
                            + " they write the time of the session's zone and all sessions have the same one; else use a column"
                            + " of date and time");
        }
        return now;
    }

    // A row is inserted with the columns that were named.
    private boolean mayInsert() {
        Set<String> ours = new HashSet<>();
        for (SqlName one : new SqlName[] {layout.name(), layout.flag(), layout.owner(), layout.time()}) {
            if (one != null) {
                ours.add(lower(one));
            }
        }
        for (Map.Entry<String, ActualTable.Column> other : table.columns().entrySet()) {
            boolean needsValue = other.getValue().notNull() && !other.getValue().filled();
            if (needsValue && !ours.contains(other.getKey())) {
                if (layout.form() == Form.INSERT) {
                    throw wrong(
                            "column " + other.getKey() + " needs a value, and it is none of those that were named",
                            "give it a default, or let it be NULL");
                }
                return false;
            }
        }
        return true;
    }

    private ActualTable.Column text(String option, SqlName name) {
        ActualTable.Column column = column(option, name);
        if (column.type().kind() != Kind.TEXT) {
            throw wrong(
                    "column " + name + " is " + column.type() + ", expected text that is not filled up with blanks",
                    "make it VARCHAR");
        }
        return column;
    }

    private ActualTable.Column column(String option, SqlName name) {
        ActualTable.Column column = table.columns().get(lower(name));
        if (column == null) {
            throw wrong(
                    "it has no column " + name + ", but " + table.columns().keySet(),
                    "name the right one in " + option);
        }
        return column;
    }

    // An index of this column alone, without a condition.
    private boolean isUnique(DatabaseMetaData metadata, String column) throws SQLException {
        Map<String, Integer> sizes = new HashMap<>();
        Set<String> ofColumn = new HashSet<>();
        try (ResultSet rows = metadata.getIndexInfo(
                table.place().catalog(), table.place().schema(), table.place().table(), true, true)) {
            while (rows.next()) {
                String index = rows.getString("INDEX_NAME");
                if (index != null && table.place().isOf(rows) && !rows.getBoolean("NON_UNIQUE")) {
                    sizes.merge(index, 1, Integer::sum);
                    String of = rows.getString("COLUMN_NAME");
                    if (of != null
                            && of.toLowerCase(Locale.ROOT).equals(column)
                            && rows.getString("FILTER_CONDITION") == null) {
                        ofColumn.add(index);
                    }
                }
            }
        }
        return ofColumn.stream().anyMatch(index -> sizes.getOrDefault(index, 0) == 1);
    }

    private static String lower(SqlName name) {
        return name.label().toLowerCase(Locale.ROOT);
    }

    private StoreException wrong(String difference, String remedy) {
        return StoreException.refused(
                where + ": table " + table.place() + " cannot be shared with layout=" + layout.form() + ": "
                        + difference + ". Remedy: " + remedy,
                null);
    }
}
