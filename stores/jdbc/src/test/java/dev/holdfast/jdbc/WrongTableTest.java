package dev.holdfast.jdbc;

import static dev.holdfast.testkit.StoreTest.failure;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Databases with wrong tables: each error says what differs and what to do, and nothing is destroyed. */
class WrongTableTest {

    @TempDir
    Path folder;

    private final Claimant alice = new Claimant("alice", Duration.ofMinutes(1));
    private final Map<String, String> servers = new HashMap<>();
    private Path file;

    @BeforeEach
    void file() {
        file = folder.resolve("locks.db");
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void tableOfSomebodyElseIsRefused(String product) throws SQLException {
        run(product, "CREATE TABLE holdfast_lock (name VARCHAR(10) PRIMARY KEY, colour VARCHAR(10))");
        run(product, "INSERT INTO holdfast_lock VALUES ('a', 'red')");
        refused(product, "not as this version of Holdfast makes them", "Use another database");
        run(product, "UPDATE holdfast_lock SET colour = 'blue' WHERE name = 'a'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void missingColumnIsNamed(String product) throws SQLException {
        open(product).close();
        run(product, "ALTER TABLE holdfast_lock DROP COLUMN expires");
        refused(product, "expires", "EXPIRES");
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void otherVersionIsNamed(String product) throws SQLException {
        open(product).close();
        run(product, "UPDATE holdfast_schema SET version = 99");
        refused(product, "version 99", "this program's is 1");
    }

    @Test
    void fileThatIsNoDatabaseIsRefused() throws Exception {
        Files.writeString(file, "This is a letter, not a database. ".repeat(100));
        assertThatThrownBy(() -> open("sqlite"))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining(file.toString())
                .hasMessageContaining("SQLite 3");
        assertThat(Files.readString(file)).startsWith("This is a letter");
    }

    @Test
    void folderIsRefused() throws Exception {
        Files.createDirectory(file);
        assertThatThrownBy(() -> open("sqlite"))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("is a folder");
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void unreadableRowIsNamedAndOthersAreNotConcerned(String product) throws SQLException {
        try (LockStore store = open(product)) {
            Claim broken = alice.mutex(new LockName("broken"));
            Claim fine = alice.mutex(new LockName("fine"));
            join(store.tryAcquire(broken));
            join(store.tryAcquire(fine));
            run(product, "UPDATE holdfast_lock SET more = 1, others = 'garbage' WHERE holder = '" + broken.id() + "'");
            StoreException failure = failure(store.tryAcquire(alice.mutex(broken.name())));
            assertThat(failure).hasMessageContaining("\"broken\"").hasMessageContaining("delete the row");
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isFalse();
            assertThat(failure(store.release(broken))).hasMessageContaining("\"broken\"");
            assertThat(failure(store.inspect(broken.name()))).hasMessageContaining("\"broken\"");
            List<Renewed> renewed = join(store.renew(List.of(broken, fine)));
            assertThat(renewed.get(0)).isInstanceOf(Renewed.Failed.class);
            assertThat(renewed.get(1)).isInstanceOf(Granted.class);
        }
    }

    @Test
    void tableThatVanishesIsNamed() throws SQLException {
        try (LockStore store = open("sqlite")) {
            run("sqlite", "DROP TABLE holdfast_lock");
            assertThat(failure(store.tryAcquire(alice.mutex(new LockName("x")))))
                    .hasMessageContaining("holdfast_lock")
                    .hasMessageContaining("made anew");
        }
        run("sqlite", "DROP TABLE holdfast_schema");
        open("sqlite").close();
    }

    private void refused(String product, String one, String other) {
        assertThatThrownBy(() -> open(product)).isInstanceOfSatisfying(StoreException.class, failure -> {
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isFalse();
            assertThat(failure.getMessage()).containsAnyOf(one, other).contains("holdfast_lock");
        });
    }

    private String h2() {
        return "jdbc:h2:" + folder.resolve("h2");
    }

    private String url(String product) {
        return switch (product) {
            case "sqlite" -> "sqlite:" + file;
            case "h2" -> h2();
            default -> servers.computeIfAbsent(product, Servers::url);
        };
    }

    private LockStore open(String product) {
        return product.equals("sqlite")
                ? new SqliteLockStoreProvider().open(url(product), MonotonicClock.SYSTEM)
                : new JdbcLockStoreProvider().open(url(product), MonotonicClock.SYSTEM);
    }

    private void run(String product, String sql) throws SQLException {
        String url = product.equals("sqlite") ? "jdbc:sqlite:" + file : url(product);
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static <T> T join(CompletionStage<T> stage) {
        return stage.toCompletableFuture().join();
    }
}
