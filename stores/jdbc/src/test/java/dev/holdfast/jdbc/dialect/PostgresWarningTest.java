package dev.holdfast.jdbc.dialect;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.util.PSQLWarning;
import org.postgresql.util.ServerErrorMessage;

/** Whether a commit is believed with whose answer a warning comes: it may say that the standby does not have it. */
class PostgresWarningTest {

    private static final String CANCELLED = "SWARNING\0C01000\0Mcanceling wait for synchronous replication\0R%s\0";

    private final PostgresDialect dialect = new PostgresDialect("jdbc:postgresql://host/app", false, false);

    private void check(SQLWarning warning) throws SQLException {
        Statement statement = (Statement) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Statement.class}, (proxy, method, none) -> warning);
        dialect.checkDone(statement);
    }

    private static SQLWarning ofTheServer(String routine) {
        return new PSQLWarning(new ServerErrorMessage(CANCELLED.formatted(routine)));
    }

    @Test
    void whereTheServerHasWarnedDecides() {
        assertThatThrownBy(() -> check(ofTheServer("SyncRepWaitForLSN"))).hasMessageContaining("standby");
        // Such a one comes with each write before the server runs out of numbers for transactions.
        assertThatCode(() -> check(ofTheServer("GetNewTransactionId"))).doesNotThrowAnyException();
    }

    /** A pool may wrap it, and a driver in another class loader has another class: it is not taken for another warning. */
    @ParameterizedTest
    @ValueSource(strings = {"01000", "57P01"})
    void warningOfAnotherClassIsNotBelieved(String state) {
        assertThatThrownBy(() -> check(new SQLWarning("wrapped", state))).hasMessageContaining("standby");
        assertThatThrownBy(() -> check(new SQLWarning("without a state"))).hasMessageContaining("standby");
        SQLWarning first = new SQLWarning("a notice", "00000");
        assertThatCode(() -> check(first)).doesNotThrowAnyException();
        first.setNextWarning(new SQLWarning("wrapped", state));
        assertThatThrownBy(() -> check(first)).hasMessageContaining("standby");
    }
}
