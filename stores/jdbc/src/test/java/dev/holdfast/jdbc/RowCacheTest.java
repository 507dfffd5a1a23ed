package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.Transition.Applied;
import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.Claimant;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A contended row that no other client writes is not read again; a write of another client is noticed before it is guessed at. */
class RowCacheTest {

    private static final LockName NAME = new LockName("hot");

    @TempDir
    Path folder;

    private final Claimant alice = new Claimant("alice", Duration.ofMinutes(1));
    private CountingSource statements;
    private RowLockStore store;
    private LockTable table;
    private LockTable another;

    @BeforeEach
    void open() throws SQLException {
        Path path = folder.resolve("locks.db");
        SqliteDialect dialect = new SqliteDialect(MonotonicClock.SYSTEM, "boot", path.toString());
        SqliteFile file = new SqliteFile(path, Duration.ofSeconds(5), dialect);
        statements = new CountingSource(file);
        // It creates the tables, and sets the origin of the file's time in the dialect.
        // Nobody refreshes the tickets.
        StoreOptions options = ServerOptions.parse("ticketTtl=10m").store();
        store = SqliteLockStoreProvider.open(dialect, file, options, MonotonicClock.SYSTEM);
        Duration ticketTtl = store.traits().ticketTtl();
        table = new LockTable(statements.open(), dialect, ticketTtl, true, MonotonicClock.SYSTEM);
        another = new LockTable(file.open(), dialect, ticketTtl, true, MonotonicClock.SYSTEM);
    }

    @AfterEach
    void close() throws SQLException {
        table.close();
        another.close();
        store.close();
    }

    @Test
    void aRowIsWrittenWithoutBeingReadIfNobodyHasWrittenMeanwhile() throws SQLException {
        Claim holder = contended();
        statements.take();
        for (int turn = 0; turn < 5; turn++) {
            Claim next = release(table, holder);
            assertThat(commands()).as("release").containsExactly("PRAGMA", "UPDATE");
            assertThat(enqueue(table, alice.mutex(NAME))).isInstanceOf(Renewed.Waiting.class);
            assertThat(commands()).as("enqueue").containsExactly("PRAGMA", "UPDATE");
            holder = next;
        }
    }

    @Test
    void aRowThatSomebodyElseWroteIsReadAgain() throws SQLException {
        Claim first = contended();
        Claim second = release(another, first);
        // In the cached row the first claim is the holder: on that row this release would grant to the second once
        // more.
        assertThat(applied(table, first).answerOrThrow()).as("released again").isFalse();
        assertThat(holders()).containsExactly(second);
        Claim third = release(table, second);
        assertThat(holders()).containsExactly(third);
    }

    @Test
    void aRefusalOnACachedRowIsCheckedOnTheRowItself() throws SQLException {
        release(table, contended());
        for (List<Claim> holders = holders(); !holders.isEmpty(); holders = holders()) {
            applied(another, holders.get(0));
        }
        Claim late = alice.mutex(NAME);
        Attempt answer = table.transition(
                        List.of(NAME),
                        read -> {
                            Attempt attempt = read.only().tryAcquire(late, read.now(), read.epoch());
                            if (attempt instanceof Attempt.Busy) {
                                throw new IllegalStateException("busy, so nothing is to be written");
                            }
                            return attempt;
                        },
                        true)
                .answerOrThrow();
        assertThat(answer).isInstanceOf(Granted.class);
    }

    @Test
    void aRowThatSomebodyWritesBeforeTheGuessIsWrittenIsReadAgain() throws SQLException {
        Claim holder = contended();
        AtomicReference<Claim> second = new AtomicReference<>();
        statements.before(sql -> {
            if (sql.startsWith("UPDATE") && second.get() == null) {
                second.set(holder);
                second.set(releaseUnchecked(another, holder));
            }
        });
        assertThat(applied(table, holder).answerOrThrow()).as("released again").isFalse();
        assertThat(holders()).containsExactly(second.get());
    }

    /** Before, every second guess was wrong: the enqueue that follows a release confirmed the row for the next release. */
    @Test
    void betweenTwoThatTakeTurnsNoGuessIsWrong() throws SQLException {
        Claim holder = contended();
        for (int turn = 0; turn < 5; turn++) {
            holder = release(another, holder);
            enqueue(another, alice.mutex(NAME));
            statements.take();
            holder = release(table, holder);
            assertThat(commands()).as("release").containsExactly("PRAGMA", "SELECT", "UPDATE");
            enqueue(table, alice.mutex(NAME));
            assertThat(commands()).as("enqueue").containsExactly("PRAGMA", "UPDATE");
        }
    }

    /** The first words of the statements since the last call. */
    private List<String> commands() {
        return statements.take().stream()
                .map(sql -> sql.strip().split("\\s", 2)[0])
                .toList();
    }

    private Claim releaseUnchecked(LockTable table, Claim holder) {
        try {
            return release(table, holder);
        } catch (SQLException failure) {
            throw new IllegalStateException(failure);
        }
    }

    // One claim holds, some wait, and the row is cached.
    private Claim contended() throws SQLException {
        Claim holder = alice.mutex(NAME);
        assertThat(enqueue(table, holder)).isInstanceOf(Granted.class);
        for (int waiter = 0; waiter < 4; waiter++) {
            assertThat(enqueue(table, alice.mutex(NAME))).isInstanceOf(Renewed.Waiting.class);
        }
        return holder;
    }

    private static Renewed enqueue(LockTable table, Claim claim) throws SQLException {
        return table.transition(List.of(NAME), read -> read.only().enqueue(claim, read.now(), read.epoch()), true)
                .answerOrThrow();
    }

    private static Applied<Boolean> applied(LockTable table, Claim claim) throws SQLException {
        return table.transition(List.of(NAME), read -> read.only().release(claim, read.now(), read.epoch()), true);
    }

    /** Releases the holder and returns the next one. */
    private Claim release(LockTable table, Claim holder) throws SQLException {
        Applied<Boolean> applied = applied(table, holder);
        assertThat(applied.answerOrThrow()).as("was owner").isTrue();
        assertThat(applied.handed()).hasSize(1);
        List<Claim> holders = holders();
        assertThat(holders)
                .singleElement()
                .extracting(Claim::id)
                .isEqualTo(applied.handed().get(0).id());
        return holders.get(0);
    }

    private List<Claim> holders() throws SQLException {
        return another.read(List.of(NAME)).row(NAME).toRecord(store.traits().ticketTtl()).grants().stream()
                .map(place -> place.claim())
                .toList();
    }
}
