package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Test;

/** A try that is refused leaves the row of the holder alone. */
class RefusedTryTest extends Servers {

    /**
     * PostgreSQL keeps the last transaction that has locked or changed a row in its column xmax. While a refused try had the
     * row locked, until its commit was on the disk, the renewals and the release of the holder skipped the row: with many
     * tries the holder lost its lock.
     */
    @Test
    void refusedTryDoesNotLockTheRow() throws SQLException {
        String url = url("postgresql");
        LockStore store = open(url);
        Claim claim = alice.mutex(name);
        granted(store, claim);
        assertThat(lastLocker(url)).isZero();
        busy(store, bob.mutex(name));
        assertThat(lastLocker(url)).isZero();
        granted(store, claim.again());
        assertThat(lastLocker(url)).isZero();
    }

    private long lastLocker(String url) throws SQLException {
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT xmax FROM holdfast_lock WHERE name = '" + name + "'")) {
            assertThat(rows.next()).isTrue();
            return rows.getLong(1);
        }
    }
}
