package dev.holdfast.fence.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.fence.jdbc.VersionedTable.Change;
import dev.holdfast.testkit.process.ChildJvm;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** n threads, or processes, times m additions are n times m. */
class OptimisticHammerTest {

    private static final int THREADS = 8;
    private static final int TIMES = 25;

    private static final Change ADD_ONE = now -> Map.of("num", now.getInt("num") + 1);

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        "h2, version",
        "h2, value",
        "h2, transaction",
        "sqlite, version",
        "sqlite, value",
        "sqlite, transaction",
        "postgresql, version",
        "postgresql, value",
        "postgresql, transaction",
        "mariadb, version",
        "mariadb, transaction"
    })
    void noAdditionIsLost(String product, String way) throws Exception {
        UserDatabase database = open(product, folder);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (HikariDataSource pool = new HikariDataSource()) {
            pool.setDataSource(database.source());
            pool.setMaximumPoolSize(THREADS);
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                running.add(threads.submit(() -> {
                    add(pool, way, TIMES);
                    return true;
                }));
            }
            for (Future<?> one : running) {
                one.get(100, TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(database.number("SELECT num FROM counter WHERE id = 1")).isEqualTo(THREADS * TIMES);
    }

    @Test
    void norByProcesses() throws SQLException {
        UserDatabase database = open("sqlite", folder);
        List<ChildJvm> children = new ArrayList<>();
        try {
            for (int i = 0; i < 3; i++) {
                children.add(ChildJvm.start(Adder.class, folder.toString()));
            }
            children.forEach(child -> child.expect("ready"));
            children.forEach(child -> child.send("go"));
            children.forEach(child -> child.expect("added"));
        } finally {
            children.forEach(ChildJvm::close);
        }
        assertThat(database.number("SELECT num FROM counter WHERE id = 1")).isEqualTo(3 * 40);
    }

    /** Another process. */
    static final class Adder {

        private Adder() {}

        public static void main(String[] arguments) throws Exception {
            UserDatabase database = UserDatabase.open("sqlite", Path.of(arguments[0]));
            System.out.println("ready");
            System.in.read();
            add(database.source(), "value", 40);
            System.out.println("added");
        }
    }

    private static UserDatabase open(String product, Path folder) throws SQLException {
        UserDatabase database = UserDatabase.open(product, folder);
        database.run(
                "CREATE TABLE counter (id INTEGER PRIMARY KEY, num INTEGER NOT NULL, version BIGINT NOT NULL)",
                "INSERT INTO counter VALUES (1, 0, 0)");
        return database;
    }

    private static void add(DataSource source, String way, int times) throws SQLException {
        OptimisticUpdate updates =
                OptimisticUpdate.over(source).attempts(10_000).within(Duration.ofSeconds(60));
        VersionedTable.Keyed counter = VersionedTable.of("counter", "id");
        VersionedTable.Row row = way.equals("value")
                ? counter.byValue("num").row(1)
                : counter.byVersion("version").row(1);
        for (int i = 0; i < times; i++) {
            if (way.equals("transaction")) {
                updates.run(connection -> row.tryUpdate(connection, ADD_ONE) == VersionedTable.Outcome.WRITTEN
                        ? Optional.of(true)
                        : Optional.empty());
            } else {
                updates.update(row, ADD_ONE);
            }
        }
    }
}
