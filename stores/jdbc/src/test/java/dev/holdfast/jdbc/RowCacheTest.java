package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A contended row that no other client writes is not read again; a write of another client is noticed. */
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
        store = SqliteLockStoreProvider.open(dialect, file, StoreOptions.DEFAULTS, MonotonicClock.SYSTEM);
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
    void aConfirmedRowIsWrittenWithoutBeingRead() throws SQLException {
        Claim holder = contended();
        statements.take();
        for (int turn = 0; turn < 5; turn++) {
            Claim next = release(table, holder);
            assertThat(statements.take()).as("release").singleElement(STRING).startsWith("UPDATE");
            assertThat(enqueue(table, alice.mutex(NAME))).isInstanceOf(Renewed.Waiting.class);
            assertThat(statements.take()).as("enqueue").singleElement(STRING).startsWith("UPDATE");
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
    void betweenTwoThatTakeTurnsNoCachedRowIsUsed() throws SQLException {
        Claim holder = contended();
        for (int turn = 0; turn < 5; turn++) {
            enqueue(table, alice.mutex(NAME));
            enqueue(another, alice.mutex(NAME));
            holder = release(another, holder);
            statements.take();
            holder = release(table, holder);
            List<String> sent = statements.take();
            if (turn > 0) {
                assertThat(sent)
                        .as("only the first guess is wrong")
                        .hasSize(2)
                        .first(STRING)
                        .startsWith("SELECT");
            }
            enqueue(another, alice.mutex(NAME));
        }
    }

    // One claim holds, some wait, and a read has confirmed the cached row.
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
