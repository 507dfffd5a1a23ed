package dev.holdfast.fence.jdbc;

import dev.holdfast.jdbc.config.SqlName;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** The key of a row in a table of the user's: columns and their values. */
record RowKey(List<SqlName> columns, List<Object> values) {

    static RowKey of(List<SqlName> columns, Object... values) {
        if (values.length != columns.size()) {
            throw new IllegalArgumentException(
                    "The key is " + columns + ", but " + values.length + " values were given");
        }
        if (Arrays.asList(values).contains(null)) {
            throw new IllegalArgumentException("A value of the key " + columns + " is null, which equals nothing");
        }
        return new RowKey(columns, List.of(values));
    }

    String condition() {
        return columns.stream().map(column -> column + " = ?").collect(Collectors.joining(" AND "));
    }

    /** Sets the parameters of the condition, and returns the index after the last one. */
    int bind(PreparedStatement statement, int first) throws SQLException {
        int index = first;
        for (Object value : values) {
            statement.setObject(index++, value);
        }
        return index;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < columns.size(); i++) {
            text.append(i == 0 ? "" : ", ").append(columns.get(i)).append(" = ").append(values.get(i));
        }
        return text.toString();
    }
}
