package dev.holdfast.fence.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The guard by comparison in a table of the user's. */
class FencedTableTest {

    private static final FencedTable STOCK = FencedTable.of("stock", "fence", "shop", "sku");

    @TempDir
    Path folder;

    private UserDatabase database(String product) throws SQLException {
        UserDatabase database = UserDatabase.open(product, folder);
        database.run(
                "CREATE TABLE stock (shop VARCHAR(20), sku VARCHAR(20), quantity INTEGER NOT NULL, seller VARCHAR(20),"
                        + " fence BIGINT, PRIMARY KEY (shop, sku))",
                "INSERT INTO stock (shop, sku, quantity) VALUES ('B', 'apple', 10)",
                "INSERT INTO stock (shop, sku, quantity) VALUES ('B', 'pear', 10)");
        return database;
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void staleTokenWritesNothing(String product) throws SQLException {
        UserDatabase database = database(product);
        FencedTable.Row apple = STOCK.row("B", "apple");
        try (Connection connection = database.connect()) {
            apple.update(connection, 34_000, "quantity = quantity - ?, seller = ?", 3, "second");
            // The same holder goes on.
            apple.update(connection, 34_000, "quantity = quantity - 1");
            assertThatThrownBy(() -> apple.update(connection, 33_000, "quantity = ?", 10))
                    .isInstanceOfSatisfying(
                            LockLostException.class,
                            stale -> assertThat(stale.reason()).isEqualTo(LossReason.TAKEN))
                    .hasMessageContainingAll("33000", "34000", "shop = B, sku = apple", "stock", "requireLive");
            apple.update(connection, 35_000, "quantity = quantity - 1");
        }
        assertThat(database.number("SELECT quantity FROM stock WHERE sku = 'apple'"))
                .isEqualTo(5);
        assertThat(database.number("SELECT quantity FROM stock WHERE sku = 'pear'"))
                .isEqualTo(10);
        assertThat(database.number("SELECT fence FROM stock WHERE sku = 'apple'"))
                .isEqualTo(35_000);
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgresql", "mariadb"})
    void laterHolderWaitsForAnOpenTransactionAndThenCounts(String product) throws Exception {
        UserDatabase database = database(product);
        FencedTable.Row apple = STOCK.row("B", "apple");
        try (Connection first = database.begin();
                Connection second = database.begin()) {
            apple.advance(first, 33_000);
            CompletableFuture<Void> later = CompletableFuture.runAsync(() -> {
                try {
                    apple.update(second, 34_000, "quantity = quantity * 2");
                    second.commit();
                } catch (SQLException failure) {
                    throw new AssertionError(failure);
                }
            });
            assertThatThrownBy(() -> later.get(200, TimeUnit.MILLISECONDS)).isNotNull();
            apple.update(first, 33_000, "quantity = quantity - 1");
            first.commit();
            later.get(30, TimeUnit.SECONDS);
            assertThatThrownBy(() -> apple.advance(first, 33_000)).isInstanceOf(LockLostException.class);
            first.rollback();
        }
        assertThat(database.number("SELECT quantity FROM stock WHERE sku = 'apple'"))
                .isEqualTo(18);
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void aTransactionThatIsRolledBackHasNotMovedTheFence(String product) throws SQLException {
        UserDatabase database = database(product);
        try (Connection connection = database.begin()) {
            STOCK.row("B", "apple").advance(connection, 34_000);
            connection.rollback();
            STOCK.row("B", "apple").update(connection, 33_000, "quantity = 0");
            connection.commit();
        }
        assertThat(database.number("SELECT fence FROM stock WHERE sku = 'apple'"))
                .isEqualTo(33_000);
    }

    /** At MariaDB's default level, a plain read shows the state at the beginning of the transaction. */
    @ParameterizedTest
    @ValueSource(strings = {"mariadb", "mysql"})
    void staleTokenIsRefusedInATransactionThatSeesThePast(String product) throws SQLException {
        UserDatabase database = database(product);
        try (Connection connection = database.begin();
                Connection later = database.connect()) {
            assertThat(connection.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_REPEATABLE_READ);
            connection.createStatement().executeQuery("SELECT * FROM stock").close();
            STOCK.row("B", "apple").update(later, 34_000, "quantity = 0");
            assertThatThrownBy(() -> STOCK.row("B", "apple").update(connection, 33_000, "quantity = 10"))
                    .isInstanceOf(LockLostException.class);
        }
    }

    @Test
    void whatIsWrongIsSaid() throws SQLException {
        UserDatabase database = database("h2");
        try (Connection connection = database.connect()) {
            assertThatThrownBy(() -> STOCK.row("B", "plum").update(connection, 1, "quantity = 1"))
                    .isInstanceOf(NoSuchElementException.class)
                    .hasMessageContainingAll("stock", "sku = plum", "JdbcFence.advance");
            assertThatIllegalStateException()
                    .isThrownBy(() -> STOCK.row("B", "apple").advance(connection, 1))
                    .withMessageContaining("setAutoCommit(false)");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> STOCK.row("B", "apple").update(connection, 0, "quantity = 1"))
                    .withMessageContaining("positive");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> STOCK.row("B", "apple").update(connection, 1, " "));
            assertThatIllegalStateException()
                    .isThrownBy(() ->
                            FencedTable.of("stock", "fence", "shop").row("B").update(connection, 1, "quantity = 1"))
                    .withMessageContaining("unique key");
            assertThatThrownBy(() -> STOCK.row("B", "apple").update(connection, 1, "no_column = 1"))
                    .isInstanceOf(SQLException.class);
        }
        assertThatIllegalArgumentException().isThrownBy(() -> STOCK.row("B")).withMessageContaining("1 values");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> STOCK.row("B", null))
                .withMessageContaining("null");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "stock; DROP TABLE stock",
                "stock--",
                "a.b.c.d",
                "1stock",
                "sto ck",
                "\"sto\"ck\"",
                "`sto`ck`",
                "\"\"",
                "\"a\nb\"",
                "'stock'",
                "stöck",
                "stock\\"
            })
    void namesThatAreNoneAreRefused(String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FencedTable.of(name, "fence", "id"))
                .withMessageContaining("table");
        assertThatIllegalArgumentException().isThrownBy(() -> FencedTable.of("stock", name, "id"));
        assertThatIllegalArgumentException().isThrownBy(() -> FencedTable.of("stock", "fence", name));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> JdbcFence.standard().schema(name));
        assertThatIllegalArgumentException().isThrownBy(() -> VersionedTable.of(name, "id"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> VersionedTable.of("stock", "id").byVersion(name));
    }

    @Test
    void namesInQuotesAndSchemasAreAllowed() throws SQLException {
        UserDatabase database = UserDatabase.open("h2", folder);
        database.run(
                "CREATE SCHEMA shop",
                "CREATE TABLE shop.\"my order\" (\"Id\" INTEGER PRIMARY KEY, total INTEGER, fence BIGINT)",
                "INSERT INTO shop.\"my order\" VALUES (1, 0, NULL)");
        FencedTable orders = FencedTable.of("shop.\"my order\"", "fence", "\"Id\"");
        try (Connection connection = database.connect()) {
            orders.row(1).update(connection, 7, "total = ?", 5);
        }
        assertThat(database.number("SELECT total FROM shop.\"my order\"")).isEqualTo(5);
        assertThatIllegalArgumentException().isThrownBy(() -> FencedTable.of("stock", "fence", "FENCE"));
        assertThatIllegalArgumentException().isThrownBy(() -> FencedTable.of("stock", "fence", "a", "A"));
        assertThatIllegalArgumentException().isThrownBy(() -> FencedTable.of("stock", "fence"));
    }
}
