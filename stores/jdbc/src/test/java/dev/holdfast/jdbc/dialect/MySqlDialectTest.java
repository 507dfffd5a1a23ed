package dev.holdfast.jdbc.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.row.LockStatements;
import java.sql.Connection;
import java.sql.SQLException;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;

/** The settings of a session are taken back, or it is not used again. */
class MySqlDialectTest {

    private final MySqlDialect dialect = new MySqlDialect("of the test", false);

    /** H2, which does not know these settings, stands in for a server whose reply is lost. */
    @Test
    void sessionWhoseSettingsMayHaveBeenChangedIsNotUsedAgain() throws SQLException {
        JdbcDataSource h2 = new JdbcDataSource();
        h2.setURL("jdbc:h2:mem:");
        try (Connection connection = h2.getConnection()) {
            LockStatements inserting = new LockStatements(connection, dialect, false);
            assertThatThrownBy(() -> dialect.insertRow(inserting, () -> 1)).isInstanceOf(SQLException.class);
            assertThat(inserting.isSpoiled()).isTrue();
            LockStatements beginning = new LockStatements(connection, dialect, false);
            assertThatThrownBy(() -> beginning.begin(2)).isInstanceOf(SQLException.class);
            beginning.rollBack();
            assertThat(beginning.isSpoiled()).isTrue();
        }
    }
}
