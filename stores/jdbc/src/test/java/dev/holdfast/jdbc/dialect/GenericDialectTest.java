package dev.holdfast.jdbc.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.spi.StoreException.Effect;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import org.junit.jupiter.api.Test;

/** What errors of a database without a dialect of its own mean. */
class GenericDialectTest {

    private final ServerDialect dialect = GenericDialect.of("jdbc:any:db", ServerOptions.parse("clock=MICROS()"));

    /** Before, a commit that broke was taken for one that was undone, as all of its class, and run again. */
    @Test
    void commitWithoutAnAnswerMayHaveTakenPlace() {
        SQLException unknown = new SQLTransactionRollbackException("statement completion unknown", "40003");
        assertThat(dialect.isRace(unknown)).isFalse();
        assertThat(dialect.failure(unknown).effect()).isEqualTo(Effect.UNKNOWN);
        SQLException undone = new SQLTransactionRollbackException("serialization failure", "40001");
        assertThat(dialect.isRace(undone)).isTrue();
        assertThat(dialect.failure(undone).effect()).isEqualTo(Effect.NONE);
    }
}
