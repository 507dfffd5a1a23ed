package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.sqlite.BootId;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients of one JVM that use the same file of SQLite share connections and threads, and are clients of their own all the same. */
class SharedFileTest extends StoreTest {

    /** Nobody refreshes them. */
    private static final String LONG_TICKETS = "?ticketTtl=10m";

    @TempDir
    Path folder;

    private final int openBefore = SharedLockStore.openStores();
    private final List<LockStore> clients = new ArrayList<>();

    private LockStore client(String options) {
        LockStore client = new SqliteLockStoreProvider().open("sqlite:" + file() + options, MonotonicClock.SYSTEM);
        clients.add(client);
        return client;
    }

    private Path file() {
        return folder.resolve("locks.db");
    }

    @AfterEach
    void closeClients() {
        clients.forEach(LockStore::close);
    }

    @Test
    void theLastClientClosesConnectionsAndThreads() throws IOException {
        List<RecordingListener> waiting = new ArrayList<>();
        granted(client(""), alice.mutex(name));
        for (int i = 0; i < 8; i++) {
            waiting.add(waiting(client(""), alice.mutex(name)));
        }
        assertThat(SharedLockStore.openStores()).isEqualTo(openBefore + 1);
        // That of the store of another test may still be about to end.
        awaitUntil(() -> threads("-poller").size() == 1, "each client polls");
        // Not from the first one on: the threads of the store open their connections when they first look.
        awaitUntil(
                () -> {
                    int handles = handles();
                    client("");
                    return handles() == handles;
                },
                "each further client opens files");
        clients.subList(1, clients.size()).forEach(LockStore::close);
        assertThat(SharedLockStore.openStores()).isEqualTo(openBefore + 1);
        busy(clients.get(0), bob.mutex(name));
        clients.get(0).close();
        clients.get(0).close();
        assertThat(SharedLockStore.openStores()).isEqualTo(openBefore);
        assertThat(handles()).isZero();
        awaitUntil(() -> threads("").isEmpty());
        assertThat(waiting).allMatch(listener -> listener.outcome().isEmpty());
    }

    /** No poll and no thread is between the two. */
    @Test
    void releaseNotifiesAnotherClientAtOnce() {
        LockStore one = client(LONG_TICKETS);
        LockStore another = client(LONG_TICKETS);
        awaitUntil(() -> isNotifiedAtOnce(one, another), "each grant was found by a poll");
    }

    // A poll may find the grant when the release has just made it, and not notified the other client yet. Then it is
    // the poll that notifies, and the release takes the claim for one of another process.
    private boolean isNotifiedAtOnce(LockStore one, LockStore another) {
        Claim first = alice.mutex(name);
        granted(one, first);
        Claim next = bob.mutex(name);
        RecordingListener second = waiting(another, next);
        Released released = get(one.release(first));
        boolean atOnce = second.outcome().isPresent();
        awaitGrant(second);
        released(another, next);
        return atOnce && released.equals(Released.ALONE);
    }

    /** A client that is closed while it waits receives nothing more, and its place goes to the next one in time. */
    @Test
    void closedClientHearsNothingAndIsRefused() {
        LockStore one = client("");
        LockStore another = client("");
        Claim first = alice.mutex(name);
        granted(one, first);
        RecordingListener closed = waiting(another, bob.mutex(name));
        another.close();
        released(one, first);
        assertThat(closed.outcome()).isEmpty();
        StoreException failure = failure(another.tryAcquire(bob.mutex(name)));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure).hasMessageContaining("closed");
        RecordingListener late = new RecordingListener();
        another.enqueue(bob.mutex(name), late);
        assertThat(failure(late)).hasMessageContaining("closed");
    }

    /** They exclude each other through the file, as two processes do. */
    @Test
    void clientsWithOtherOptionsDoNotShare() {
        LockStore one = client(LONG_TICKETS);
        LockStore another = client(LONG_TICKETS + "&busyTimeout=4s");
        assertThat(SharedLockStore.openStores()).isEqualTo(openBefore + 2);
        Claim first = alice.mutex(name);
        granted(one, first);
        RecordingListener second = waiting(another, bob.mutex(name));
        released(one, first);
        awaitGrant(second);
    }

    @Test
    void aFileThatWasMadeAnewIsAnother() throws IOException {
        assumeTrue(Files.readAttributes(folder, java.nio.file.attribute.BasicFileAttributes.class)
                        .fileKey()
                != null);
        granted(client(""), alice.mutex(name));
        for (String part : List.of("", "-wal", "-shm")) {
            Files.deleteIfExists(folder.resolve("locks.db" + part));
        }
        granted(client(""), bob.mutex(name));
    }

    /** Each client that opens the file looks whether the tables are still what they must be. */
    @Test
    void tablesThatWereChangedAreRefusedAlsoWhileAClientIsOpen() throws SQLException {
        client("");
        try (Connection other = DriverManager.getConnection("jdbc:sqlite:" + file());
                Statement statement = other.createStatement()) {
            statement.execute("ALTER TABLE holdfast_lock DROP COLUMN owner");
        }
        assertThatThrownBy(() -> client("")).isInstanceOf(StoreException.class).hasMessageContaining("owner");
        assertThat(SharedLockStore.openStores()).isEqualTo(openBefore + 1);
    }

    /** The first of ours that waits, and one behind it, which only the queue shows. */
    @Test
    void waitersThatAnotherProcessEndsHearOfIt() {
        LockStore here = client(LONG_TICKETS);
        try (LockStore there = SqliteLockStoreProvider.open(
                file(), StoreOptions.DEFAULTS, MonotonicClock.SYSTEM, BootId.ofThisHost())) {
            granted(there, alice.mutex(name));
            List<Claim> claims = new ArrayList<>();
            List<RecordingListener> waiting = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                claims.add(bob.mutex(name));
                waiting.add(waiting(here, claims.get(i)));
            }
            for (int i : new int[] {2, 0, 3, 1}) {
                released(there, claims.get(i));
                assertThat(awaitEnd(waiting.get(i))).isEqualTo(Renewed.Reason.RELEASED);
            }
        }
    }

    private static List<String> threads(String end) {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(thread -> thread.startsWith("holdfast-sqlite") && thread.endsWith(end))
                .toList();
    }

    /** How many files of the folder this process has open. */
    private int handles() {
        Path handles = Path.of("/proc/self/fd");
        assumeTrue(Files.isDirectory(handles), "the system shows open files");
        try (Stream<Path> all = Files.list(handles)) {
            return (int) all.filter(this::isOurs).count();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private boolean isOurs(Path handle) {
        try {
            return Files.readSymbolicLink(handle).startsWith(folder.toRealPath());
        } catch (IOException closedMeanwhile) {
            return false;
        }
    }
}
