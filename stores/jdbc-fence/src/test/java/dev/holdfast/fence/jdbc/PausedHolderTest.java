package dev.holdfast.fence.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockOptions;
import dev.holdfast.fence.jdbc.StaleWriter.Guard;
import dev.holdfast.testkit.process.ChildJvm;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A process is frozen beyond its lease between looking whether it holds its lock and writing. Without a guard its write
 * lands on top of its successor's; with any guard it does not.
 */
class PausedHolderTest {

    private static final Duration PATIENCE = ChildJvm.PATIENCE;

    @TempDir
    Path folder;

    private UserDatabase database;
    private Holdfast locks;
    private ChildJvm holder;

    private void open(String product, Guard guard, Duration lease) throws SQLException {
        database = UserDatabase.open(product, folder);
        database.run(
                "CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL, fence BIGINT NOT NULL)",
                "INSERT INTO account VALUES (1, 100, 0)");
        try (Connection connection = database.connect()) {
            JdbcFence.standard().createTable(connection);
        }
        // Before the child: the first process that opens a file of H2 serves it to the others, and must not be
        // frozen.
        locks = Holdfast.connect(database.storeUrl());
        holder = ChildJvm.start(
                StaleWriter.class, database.storeUrl(), database.url(), guard.name(), Long.toString(lease.toMillis()));
    }

    @AfterEach
    void close() {
        if (holder != null) {
            holder.close();
        }
        if (locks != null) {
            locks.close();
        }
    }

    /** Shows that the next test would fail without a guard. */
    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgresql"})
    void withoutAGuardTheStaleWriteLands(String product) throws Exception {
        open(product, Guard.NONE, Duration.ofSeconds(1));
        overtake(Guard.NONE);
        assertThat(holder.readLine(PATIENCE)).isEqualTo("guarded");
        holder.send("commit");
        assertThat(holder.readLine(PATIENCE)).isEqualTo("written");
        // 100 less 10 less 50 is 40. The 50 are gone.
        assertThat(database.number("SELECT balance FROM account")).isEqualTo(90);
    }

    static Stream<Arguments> guards() {
        return Stream.concat(
                Stream.of(Guard.ADVANCE, Guard.LIVE_CLAIM).map(guard -> Arguments.of("sqlite", guard)),
                Stream.of(Guard.TABLE, Guard.ADVANCE, Guard.LIVE_CLAIM, Guard.LIVE_LEASE)
                        .map(guard -> Arguments.of("postgresql", guard)));
    }

    @ParameterizedTest
    @MethodSource("guards")
    void withAGuardTheStaleWriteIsRefused(String product, Guard guard) throws Exception {
        open(product, guard, Duration.ofSeconds(1));
        overtake(guard);
        assertThat(holder.readLine(PATIENCE)).startsWith("refused LockLostException");
        assertThat(database.number("SELECT balance FROM account")).isEqualTo(50);
    }

    // The child has read 100 and found its lock valid. It is frozen, and this process takes 50 under the lock.
    private void overtake(Guard guard) throws Exception {
        holder.expect("checked");
        holder.pause();
        try (Lease lease = locks.lock(StaleWriter.LOCK).acquire(PATIENCE);
                Connection connection = database.begin()) {
            guard.write(connection, lease, StaleWriter.balance(connection) - 50);
            connection.commit();
        }
        holder.send("write");
        holder.resume();
    }

    /** The other half: frozen after the assertion and before the commit, the holder keeps its successor out. */
    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgresql"})
    void frozenBeforeItsCommitItIsStillTheOnlyOne(String product) throws Exception {
        Duration lease = Duration.ofSeconds(2);
        open(product, Guard.LIVE_LEASE, lease);
        // It goes on at once, so that a pause of this process costs nothing of its lease.
        holder.send("write");
        holder.expect("checked");
        long checked = System.nanoTime();
        assertThat(holder.readLine(PATIENCE)).isEqualTo("guarded");
        holder.pause();
        while (System.nanoTime() - checked < lease.plusMillis(500).toNanos()) {
            LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
        }
        assertThat(tryAcquire()).isEmpty();
        holder.send("commit");
        holder.resume();
        assertThat(holder.readLine(PATIENCE)).isEqualTo("written");
        try (Lease next = locks.lock(StaleWriter.LOCK).acquire(PATIENCE);
                Connection connection = database.begin()) {
            assertThat(StaleWriter.balance(connection)).isEqualTo(90);
            assertThat(next.isValid()).isTrue();
        }
    }

    private Optional<Lease> tryAcquire() {
        try {
            return locks.lock(StaleWriter.LOCK, LockOptions.defaults().withStoreTimeout(Duration.ofMillis(200)))
                    .tryAcquire();
        } catch (LockException storeIsBusy) {
            return Optional.empty();
        }
    }
}
