package dev.holdfast.jdbc.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.JdbcLockStoreProvider;
import dev.holdfast.jdbc.dialect.H2Dialect;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.waiting.WaiterRegistry.Seen;
import dev.holdfast.jdbc.waiting.WaiterRegistry.Waiter;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a client learns from a row in which its claims wait. */
class WaiterRegistryTest extends StoreTest {

    private static final Duration TTL = Duration.ofMinutes(10);

    private final WaiterRegistry registry = new WaiterRegistry();
    private LockStore store;
    private LockTable table;

    @BeforeEach
    void open() throws SQLException {
        String url = "jdbc:h2:mem:registry" + System.nanoTime() + ";DB_CLOSE_DELAY=-1";
        store = closing(new JdbcLockStoreProvider().open(url + "?holdfast.ticketTtl=10m", MonotonicClock.SYSTEM));
        table = closing(
                new LockTable(DriverManager.getConnection(url), new H2Dialect("h2"), TTL, true, MonotonicClock.SYSTEM));
    }

    private void waitsHere(Claim claim) {
        waiting(store, claim);
        registry.add(new Waiter(claim, new RecordingListener(), registry));
    }

    private Map<LockName, Seen> look() throws SQLException {
        return registry.look(table, List.of(name), TTL, id -> {});
    }

    /** Before, the fifth of them took itself for the fifth in the queue, and read the row when four others would have had their turn. */
    @Test
    void readersBehindAWriterAreAllNext() throws SQLException {
        granted(store, alice.write(name));
        for (int i = 0; i < 4; i++) {
            waiting(store, alice.read(name));
        }
        waitsHere(bob.read(name));
        assertThat(look()).containsEntry(name, new Seen(0, false));
    }

    /**
     * The listener reads rows, too, and the schedule of the polls does not learn of that. Before, a client that was first in a queue
     * could take itself for one further back when its listener failed, and polled as rarely, until the row was changed.
     */
    @Test
    void rowThatWasNotChangedIsReadOnceMoreWhenVersionsWereForgotten() throws SQLException {
        granted(store, alice.mutex(name));
        waitsHere(bob.mutex(name));
        assertThat(look()).containsKey(name);
        assertThat(look()).as("unchanged").isEmpty();
        registry.forgetVersions();
        assertThat(look()).containsEntry(name, new Seen(0, false));
    }
}
