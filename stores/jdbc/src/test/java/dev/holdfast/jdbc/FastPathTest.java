package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.row.HandedOver;
import dev.holdfast.jdbc.row.Joined;
import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.Transition.Applied;
import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Renewed;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.WrappedClock;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The one-statement paths leave the row as the record itself would have: the same random operations are made by statement on
 * one name and by transition on another, and the two rows are compared after each.
 */
class FastPathTest {

    private static final Duration TTL = Duration.ofSeconds(5);
    private static final LockName BY_STATEMENT = new LockName("by statement");
    private static final LockName BY_TRANSITION = new LockName("by transition");

    @TempDir
    Path folder;

    private final Random random = new Random(Seeds.of("fast path"));
    private final ManualClock clock = new ManualClock(random.nextLong());
    private LockTable table;
    /** So many operations that random variation stays far from the bound on the one-statement paths. */
    private static final int OPERATIONS = 6_000;

    private long sequence;
    private int joined;
    private int handedOver;

    @BeforeEach
    void open() throws SQLException {
        Path path = folder.resolve("locks.db");
        SqliteDialect dialect = new SqliteDialect(clock, "boot", path.toString());
        SqliteFile file = new SqliteFile(path, Duration.ofSeconds(5), dialect);
        SqliteLockStoreProvider.open(dialect, file, StoreOptions.DEFAULTS, clock)
                .close();
        table = new LockTable(file.open(), dialect, TTL, true, clock);
    }

    @AfterEach
    void close() throws SQLException {
        table.close();
    }

    @Test
    void bothPathsLeaveTheSameRow() throws SQLException {
        Claim last = claim();
        Map<String, Claim> claims = new HashMap<>();
        int applied = 0;
        for (int i = 0; i < OPERATIONS; i++) {
            clock.advance(Duration.ofMillis(random.nextInt(400)));
            boolean byStatement = switch (random.nextInt(4)) {
                case 0 -> {
                    last = claim();
                    yield acquire(last);
                }
                case 1 -> enqueue(claims, next(last));
                // A release that finds nothing leaves a tombstone, and then nothing is a single statement for a while.
                case 2 -> (holds(last) || random.nextInt(50) == 0) && release(last);
                default -> renew(last);
            };
            applied += byStatement ? 1 : 0;
            claims.put(last.id().toString(), last);
            assertThat(row(BY_STATEMENT))
                    .as("operation %d", i)
                    .usingRecursiveComparison()
                    .ignoringFields("name")
                    .isEqualTo(row(BY_TRANSITION));
            last = claims.getOrDefault(row(BY_STATEMENT).holder(), last);
        }
        assertThat(applied).as("operations that were one statement").isGreaterThan(600);
        assertThat(joined).as("claims that joined a queue by one").isGreaterThan(400);
        assertThat(handedOver).as("hand-overs by a short read and a write").isGreaterThan(300);
    }

    /**
     * A new row once had two readings of the wall clock in it, so a renewal returned another counter than the
     * acquire.
     */
    @Test
    void newRowHasOneCounter() throws SQLException {
        MonotonicClock restless = new WrappedClock(clock) {
            private long epoch = clock.epochMicros();

            @Override
            public long epochMicros() {
                return epoch++;
            }
        };
        Path path = folder.resolve("restless.db");
        try (RowLockStore store = SqliteLockStoreProvider.open(path, StoreOptions.DEFAULTS, restless, "boot")) {
            Claim claim = claim();
            Granted granted =
                    (Granted) store.tryAcquire(claim).toCompletableFuture().join();
            assertThat(store.renew(List.of(claim)).toCompletableFuture().join().get(0))
                    .isEqualTo(new Granted(granted.counter(), claim.lease()));
            assertThat(store.tryAcquire(claim).toCompletableFuture().join()).isEqualTo(granted);
        }
    }

    private boolean holds(Claim claim) throws SQLException {
        LockRow row = row(BY_STATEMENT);
        return row.holder().equals(claim.id().toString())
                && row.expires() > table.read(List.of(BY_STATEMENT)).now();
    }

    private boolean acquire(Claim claim) throws SQLException {
        Granted granted = table.acquireFree(on(BY_STATEMENT, claim));
        Claim other = on(BY_TRANSITION, claim);
        var answer = table.transition(
                        List.of(BY_TRANSITION), read -> read.only().tryAcquire(other, read.now(), read.epoch()), true)
                .answer();
        if (granted != null) {
            assertThat(granted).isEqualTo(answer);
            return true;
        }
        table.transition(
                List.of(BY_STATEMENT),
                read -> read.only().tryAcquire(on(BY_STATEMENT, claim), read.now(), read.epoch()),
                true);
        return false;
    }

    private boolean enqueue(Map<String, Claim> claims, Claim claim) throws SQLException {
        claims.put(claim.id().toString(), claim);
        Optional<Joined> place = table.join(on(BY_STATEMENT, claim));
        Claim other = on(BY_TRANSITION, claim);
        Renewed answer = table.transition(
                        List.of(BY_TRANSITION), read -> read.only().enqueue(other, read.now(), read.epoch()), true)
                .answer();
        if (place.isPresent()) {
            assertThat(answer).isInstanceOf(Renewed.Waiting.class);
            assertThat(((Renewed.Waiting) answer).position())
                    .isEqualTo(place.get().permits().size() - 1);
            joined++;
            return true;
        }
        table.transition(
                List.of(BY_STATEMENT),
                read -> read.only().enqueue(on(BY_STATEMENT, claim), read.now(), read.epoch()),
                true);
        return false;
    }

    private boolean release(Claim claim) throws SQLException {
        boolean released = table.releaseSole(on(BY_STATEMENT, claim));
        Optional<HandedOver> over =
                released || !table.canHandOver(claim) ? Optional.empty() : table.handOver(on(BY_STATEMENT, claim));
        Claim other = on(BY_TRANSITION, claim);
        Applied<Boolean> applied = table.transition(
                List.of(BY_TRANSITION), read -> read.only().release(other, read.now(), read.epoch()), true);
        if (over.isPresent()) {
            assertThat(applied.answer()).isTrue();
            assertThat(applied.handed()).containsExactly(over.get().handed());
            // What has ended is still in the row after the statement, and counts there.
            assertThat(over.get().contended() || !applied.contended()).isTrue();
            handedOver++;
            return true;
        }
        if (released) {
            assertThat(applied.answer()).isTrue();
            return true;
        }
        table.transition(
                List.of(BY_STATEMENT),
                read -> read.only().release(on(BY_STATEMENT, claim), read.now(), read.epoch()),
                true);
        return false;
    }

    private boolean renew(Claim claim) throws SQLException {
        Claim longer = claim.withLease(Duration.ofMillis(100 + random.nextInt(3_000)));
        Map<ClaimId, Renewed> answers = new HashMap<>();
        table.renewSole(List.of(on(BY_STATEMENT, longer)), answers);
        Renewed renewed = answers.get(claim.id());
        Claim other = on(BY_TRANSITION, longer);
        var answer = table.transition(
                        List.of(BY_TRANSITION), read -> read.only().renew(other, read.now(), read.epoch()), true)
                .answer();
        if (renewed != null) {
            assertThat(renewed).isEqualTo(answer);
            return true;
        }
        table.transition(
                List.of(BY_STATEMENT),
                read -> read.only().renew(on(BY_STATEMENT, longer), read.now(), read.epoch()),
                true);
        return false;
    }

    // A refused attempt mints no counter, so both rows have seen the same number of grants.
    private LockRow row(LockName name) throws SQLException {
        LockTable.Rows rows = table.read(List.of(name));
        ResourceRecord record = rows.row(name).toRecord(TTL);
        // A statement on a queue leaves what has ended for a transition to remove.
        record.settle(rows.now(), rows.epoch());
        return LockRow.of(record, 0);
    }

    private Claim claim() {
        int limit = 1 + random.nextInt(3);
        return new Claim(
                BY_STATEMENT,
                new ClaimId("client", ++sequence),
                1 + random.nextInt(limit),
                limit,
                Duration.ofMillis(100 + random.nextInt(3_000)),
                new OwnerInfo("client", "host", 4711, "thread " + sequence, "", List.of()),
                random.nextInt(30) == 0);
    }

    /** A claim that may wait behind another one, most often; or that one itself. */
    private Claim next(Claim holder) {
        return switch (random.nextInt(20)) {
            case 0 -> holder;
            case 1, 2, 3, 4 -> claim();
            default -> {
                Claim claim = claim();
                yield new Claim(
                        claim.name(),
                        claim.id(),
                        holder.limit(),
                        holder.limit(),
                        claim.lease(),
                        claim.owner(),
                        claim.repeated());
            }
        };
    }

    private static Claim on(LockName name, Claim claim) {
        return new Claim(
                name, claim.id(), claim.permits(), claim.limit(), claim.lease(), claim.owner(), claim.repeated());
    }
}
