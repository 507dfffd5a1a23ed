package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a grant costs while many wait for one lock of a file of SQLite, in this process and in another one. The clock stands still, so that
 * nothing is read because time has passed.
 */
class FileHerdTest extends StoreTest {

    private static final int WAITERS = 64;
    private static final List<String> HAND_OVER = List.of("SELECT", "UPDATE");

    @TempDir
    Path folder;

    private final ManualClock clock = new ManualClock(1);
    private CountingSource statements;
    private LockStore here;
    private LockStore there;

    @BeforeEach
    void open() {
        SqliteDialect dialect = dialect();
        statements = new CountingSource(file(dialect));
        here = SqliteLockStoreProvider.open(dialect, statements, StoreOptions.DEFAULTS, clock);
        SqliteDialect another = dialect();
        there = SqliteLockStoreProvider.open(another, file(another), StoreOptions.DEFAULTS, clock);
        statements.recordPolls();
    }

    private SqliteDialect dialect() {
        return new SqliteDialect(clock, "boot", "locks.db");
    }

    private SqliteFile file(SqliteDialect dialect) {
        return new SqliteFile(folder.resolve("locks.db"), Duration.ofSeconds(5), dialect);
    }

    @AfterEach
    void close() {
        here.close();
        there.close();
    }

    /** Before, each commit of anybody had each client read and decode the whole queue. */
    @Test
    void aGrantIsFoundWithoutReadingTheQueue() {
        List<Claim> ours = new ArrayList<>();
        List<Claim> theirs = new ArrayList<>();
        List<RecordingListener> waiting = new ArrayList<>();
        ours.add(alice.mutex(name));
        granted(here, ours.get(0));
        for (int i = 0; i < WAITERS; i++) {
            theirs.add(bob.mutex(name));
            waiting.add(waiting(there, theirs.get(i)));
            ours.add(alice.mutex(name));
            waiting.add(waiting(here, ours.get(i + 1)));
        }
        awaitUntil(() -> statements.take().stream().anyMatch(FileHerdTest::isWholeRow));
        for (int i = 0; i < WAITERS; i++) {
            released(here, ours.get(i));
            awaitGrant(waiting.get(2 * i));
            released(there, theirs.get(i));
            awaitGrant(waiting.get(2 * i + 1));
        }
        List<String> run = statements.take();
        // Each round has two commits. Of the last claims that were enqueued, a poll that was under way and two more may
        // tell.
        assertThat(run).as("whole rows read by polls").noneMatch(FileHerdTest::isWholeRow);
        assertThat(run).filteredOn(FileHerdTest::isHead).as("heads").hasSizeBetween(WAITERS, 2 * WAITERS + 3);
        assertThat(run).as("whole rows read by releases").noneMatch(FileHerdTest::isRead);
    }

    /** Whoever joins reads whether the lock is held, and appends itself. A release reads the first entry of the queue only. */
    @Test
    void aTurnOfManyIsTwoWritesAndTwoShortReads() {
        Claim holder = alice.mutex(name);
        granted(there, holder);
        statements.take();
        List<Claim> claims = new ArrayList<>();
        List<RecordingListener> waiting = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            claims.add(bob.mutex(name));
            waiting.add(waiting(here, claims.get(i)));
        }
        assertThat(ofCalls(statements.take()))
                .as("joins; the first client does not know that the lock is taken")
                .containsExactly("INSERT", "SELECT", "WITH", "SELECT", "WITH", "SELECT", "WITH", "SELECT", "WITH");
        released(there, holder);
        for (int i = 0; i < 4; i++) {
            awaitGrant(waiting.get(i));
            statements.take();
            released(here, claims.get(i));
            assertThat(ofCalls(statements.take()))
                    .as("release %d; the last one looks for a queue, since the one before found one", i)
                    .isEqualTo(i < 3 ? HAND_OVER : List.of("SELECT", "UPDATE"));
        }
    }

    /** Its client has vanished, and nobody has looked at the queue since its ticket ran out. */
    @Test
    void aDeadWaiterIsPassedOver() {
        Duration ticket = here.traits().ticketTtl();
        Claim holder = alice.mutex(name).withLease(ticket.multipliedBy(4));
        granted(here, holder);
        waiting(there, bob.mutex(name));
        there.close();
        Claim next = bob.mutex(name);
        RecordingListener ofNext = waiting(here, next);
        clock.advance(ticket.multipliedBy(3).dividedBy(5));
        assertThat(renewed(here, next)).isInstanceOf(Renewed.Waiting.class);
        clock.advance(ticket.multipliedBy(3).dividedBy(5));
        released(here, holder);
        awaitGrant(ofNext);
    }

    /** Somebody else releases the same claim after the head of its queue was read: the queue has moved, and moves once only. */
    @Test
    void aReleaseThatAnotherProcessIsFasterThanReadsAgain() {
        Claim holder = alice.mutex(name);
        granted(here, holder);
        Claim next = bob.mutex(name);
        RecordingListener ofNext = waiting(here, next);
        waiting(here, bob.mutex(name));
        AtomicBoolean done = new AtomicBoolean();
        statements.before(sql -> {
            if (sql.startsWith("UPDATE") && done.compareAndSet(false, true)) {
                released(there, holder);
            }
        });
        get(here.release(holder));
        assertThat(done).isTrue();
        awaitGrant(ofNext);
        ResourceState state = get(there.inspect(name)).orElseThrow();
        assertThat(state.holders()).extracting(ResourceState.Entry::claim).containsExactly(next);
        assertThat(state.waiters()).hasSize(1);
    }

    /** A grant that counted from before the refresh of its ticket would end before its owner thinks. */
    @Test
    void aGrantIsNoOlderThanTheTicket() {
        Duration ticket = here.traits().ticketTtl();
        Claim holder = alice.mutex(name).withLease(ticket.multipliedBy(4));
        granted(here, holder);
        Claim next = bob.mutex(name).withLease(ticket.multipliedBy(4));
        RecordingListener ofNext = waiting(there, next);
        AtomicBoolean done = new AtomicBoolean();
        statements.before(sql -> {
            if (sql.startsWith("SELECT holdfast_now(), holdfast_epoch(), version") && done.compareAndSet(false, true)) {
                clock.advance(ticket.dividedBy(2));
                assertThat(renewed(there, next)).isInstanceOf(Renewed.Waiting.class);
            }
        });
        get(here.release(holder));
        assertThat(done).isTrue();
        awaitGrant(ofNext);
        ResourceState.Entry held =
                get(there.inspect(name)).orElseThrow().holders().get(0);
        assertThat(held.claim()).isEqualTo(next);
        assertThat(held.remaining()).isEqualTo(ticket);
    }

    /** The first words of the statements that were not run by the poller. */
    private static List<String> ofCalls(List<String> run) {
        return run.stream()
                .filter(sql -> !sql.startsWith("PRAGMA") && !isHead(sql) && !isWholeRow(sql))
                .map(sql -> sql.split("\\s", 2)[0])
                .toList();
    }

    private static boolean isRead(String sql) {
        return sql.startsWith("SELECT holdfast_now(), holdfast_epoch(), name");
    }

    private static boolean isHead(String sql) {
        return sql.contains("c.column3");
    }

    private static boolean isWholeRow(String sql) {
        return sql.contains("SELECT COUNT(*)");
    }
}
