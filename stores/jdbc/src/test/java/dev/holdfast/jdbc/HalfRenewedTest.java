package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.dialect.H2Dialect;
import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.Claimant;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A batch of renewals that takes several statements, of which a later one fails. */
public class HalfRenewedTest {

    @TempDir
    Path folder;

    private final Claimant alice = new Claimant("alice", Duration.ofMinutes(1));

    /**
     * Otherwise the holders of renewed claims would lose them if the renewal of the others fails again and again.
     */
    @ParameterizedTest
    @ValueSource(classes = {SQLException.class, IllegalStateException.class, InternalError.class})
    void whatWasRenewedBeforeTheFailureStaysAnswered(Class<? extends Throwable> failure) {
        H2Dialect failing = new H2Dialect("h2") {
            private int statements;

            @Override
            public void renewSole(LockStatements on, List<Claim> claims, Map<ClaimId, Granted> renewed)
                    throws SQLException {
                if (++statements > 1) {
                    throwIt(failure);
                }
                super.renewSole(on, claims, renewed);
            }
        };
        JdbcDataSource database = new JdbcDataSource();
        database.setURL("jdbc:h2:mem:" + folder.getFileName() + failure.getSimpleName());
        ConnectionPool pool = new ConnectionPool(database, H2Dialect.PREPARES, 6, "h2", Duration.ofSeconds(5), "test");
        try (RowLockStore store = H2StoreFactory.open(failing, pool, ServerOptions.DEFAULTS, MonotonicClock.SYSTEM)) {
            List<Claim> held = new ArrayList<>();
            for (int i = 0; i <= LockTable.MAX_BATCH; i++) {
                Claim claim = alice.mutex(new LockName("held " + i));
                assertThat(store.tryAcquire(claim).toCompletableFuture().join()).isInstanceOf(Granted.class);
                held.add(claim);
            }
            List<Renewed> answers = store.renew(held).toCompletableFuture().join();
            assertThat(answers.subList(0, LockTable.MAX_BATCH)).allMatch(Granted.class::isInstance);
            assertThat(answers.get(LockTable.MAX_BATCH)).isInstanceOf(Renewed.Failed.class);
        }
    }

    // No driver should throw the others.
    private static void throwIt(Class<? extends Throwable> failure) throws SQLException {
        if (failure == SQLException.class) {
            throw new SQLException("the connection broke");
        } else if (failure == InternalError.class) {
            throw new InternalError("of the driver");
        }
        throw new IllegalStateException("of the driver");
    }
}
