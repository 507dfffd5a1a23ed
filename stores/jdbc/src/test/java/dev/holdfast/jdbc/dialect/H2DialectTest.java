package dev.holdfast.jdbc.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.StoreException.Effect;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import org.h2.api.ErrorCode;
import org.junit.jupiter.api.Test;

class H2DialectTest {

    private final H2Dialect dialect = new H2Dialect("of the test");

    /** It was taken for that of a pool which gave no connection: then a lock that was acquired stayed so for a lease. */
    @Test
    void replyThatIsLostWithTheConnectionSaysNothingOfTheEffect() {
        SQLException lost = new SQLTransientConnectionException("of a driver around that of H2", "08006");
        assertThat(dialect.failure(lost).effect()).isEqualTo(Effect.UNKNOWN);
        SQLException undone = new SQLException("of the test", "HYT00", ErrorCode.LOCK_TIMEOUT_1);
        assertThat(dialect.failure(undone).effect()).isEqualTo(Effect.NONE);
    }
}
