package dev.holdfast.fence.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.fence.jdbc.VersionedTable.Change;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The examples of docs/databases.md, in its order. */
class DatabasesPageTest {

    @TempDir
    Path folder;

    @Test
    void examplesDoWhatThePageSays() throws Exception {
        UserDatabase database = UserDatabase.open("postgresql", folder);
        database.run(
                "CREATE TABLE item (id INTEGER PRIMARY KEY, num INTEGER NOT NULL, version BIGINT NOT NULL)",
                "INSERT INTO item VALUES (42, 2, 0)",
                "CREATE TABLE orders (id INTEGER PRIMARY KEY)",
                "CREATE TABLE stock (sku VARCHAR(20) PRIMARY KEY, quantity INTEGER NOT NULL)",
                "INSERT INTO stock VALUES ('apple', 10)",
                "ALTER TABLE stock ADD COLUMN fence BIGINT NOT NULL DEFAULT 0");
        try (Holdfast locks = Holdfast.connect(database.storeUrl());
                Connection connection = database.connect()) {
            try (Lease lease = locks.lock("close-month").acquire(Duration.ofSeconds(5))) {
                assertThat(lease.isValid()).isTrue();
            }
            try (Lease all =
                    locks.multiLock("share_a", "share_b", "share_c", "A_d").acquire(Duration.ofSeconds(10))) {
                assertThat(all.names()).hasSize(4);
            }
            schemeFour(database.source());
            guards(locks, connection);
        }
        assertThat(database.number("SELECT num FROM item")).isZero();
        assertThat(database.number("SELECT id FROM orders")).isEqualTo(1042);
        assertThat(database.number("SELECT quantity FROM stock")).isEqualTo(9);
    }

    private static void schemeFour(DataSource dataSource) throws SQLException {
        VersionedTable items = VersionedTable.of("item", "id").byVersion("version");
        OptimisticUpdate updates = OptimisticUpdate.over(dataSource);
        boolean sold = updates.update(
                items.row(42), now -> now.getInt("num") > 0 ? Map.of("num", now.getInt("num") - 1) : Map.of());
        assertThat(sold).isTrue();

        Change takeOne = now -> Map.of("num", now.getInt("num") - 1);
        Integer order = updates.run(connection -> {
            if (items.row(42).tryUpdate(connection, takeOne) == VersionedTable.Outcome.CONFLICT) {
                return Optional.empty();
            }
            return Optional.of(insertOrder(connection, 42));
        });
        assertThat(order).isEqualTo(1042);
    }

    private static int insertOrder(Connection connection, int item) throws SQLException {
        connection.createStatement().executeUpdate("INSERT INTO orders VALUES (" + (1000 + item) + ")");
        return 1000 + item;
    }

    private static void guards(Holdfast locks, Connection connection) throws Exception {
        String sku = "apple";
        FencedTable stock = FencedTable.of("stock", "fence", "sku");
        try (Lease lease = locks.lock("stock:" + sku).acquire()) {
            stock.row(sku).update(connection, lease.token(), "quantity = quantity - ?", 1);
        }

        JdbcFence fence = JdbcFence.standard();
        fence.createTable(connection);
        connection.setAutoCommit(false);
        try (Lease lease = locks.lock("order:42").acquire()) {
            fence.advance(connection, "order:42", lease.token());
            connection.commit();
            fence.requireLive(connection, lease);
            connection.commit();
        }
    }
}
