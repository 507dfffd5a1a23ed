package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.connection.DatabaseUrl;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.waiting.WaiterNotifier;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.testkit.RecordingListener;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Many clients that want one lock: what each grant costs the server, with the join that came before it. */
class QueueStatementsTest extends Servers {

    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** An entry with more permits than there are numbers for. */
    private static final String TOO_MANY =
            "wait\tbob.1\t1\t999999999999999999\t99999999999\t99999999999\t1000000\t-\t=\thost\t1\tthread\tlabel\n";

    /**
     * A client joins with one request and the release hands over with one. On PostgreSQL it notifies with one, too, and the one that
     * is notified reads with one; on MariaDB the others poll, which is not counted here but in {@code RowPollsTest}.
     */
    @ParameterizedTest
    @CsvSource({"postgresql, 8, 4", "postgresql, 64, 4", "mariadb, 8, 2", "mariadb, 64, 2"})
    void aGrantTakesAsManyRequestsHoweverManyWait(String product, int clients, int requests) {
        DatabaseUrl url = DatabaseUrl.of(url(product));
        CountingSource statements = counting(url);
        List<RowLockStore> stores = new ArrayList<>();
        for (int i = 0; i <= clients; i++) {
            stores.add(closing(counted(url, statements)));
        }
        allHaveOneTurn(stores, statements);
        allHaveOneTurn(stores, statements);
        assertThat(statements.take())
                .as("requests of %d clients, which joined and were granted the lock once each", clients)
                // And those of the clients that know the lock as free, or as one with a queue, and are wrong: two
                // requests each on MariaDB, which updates a row before it inserts one.
                .hasSizeLessThanOrEqualTo(requests * clients + 8);
    }

    /**
     * Clients that remember a queue come together after it is gone. One of them takes the lock, and the others join behind it: when
     * each of them read the row and wrote it back, each write made all others read again.
     */
    @Test
    void whoFindsTheQueueGoneJoinsTheOneThatTookTheLock() {
        DatabaseUrl url = DatabaseUrl.of(url("postgresql"));
        CountingSource statements = counting(url);
        // Polls are not counted, but the reads of those who are notified are, and may come late.
        RowLockStore first = closing(counted(url, statements, "wakeup=poll"));
        RowLockStore second = closing(counted(url, statements, "wakeup=poll"));
        rememberAQueue(first, second);
        statements.take();
        Claim holder = alice.mutex(name).withLease(LONG);
        AtomicBoolean found = new AtomicBoolean();
        statements.before(sql -> {
            boolean takes = sql.startsWith("INSERT");
            if (takes && found.compareAndSet(false, true)) {
                granted(first, holder);
            }
        });
        waiting(second, alice.mutex(name).withLease(LONG));
        assertThat(found).isTrue();
        assertThat(statements.take())
                .as("a join in vain, two tries to take the lock, of which one succeeds, and the join")
                .hasSize(4);
    }

    /** Two clients that take turns: whoever releases takes the lock for one that nobody waits for, but for the last time. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void whoHandedOverLastTimeHandsOverWithOneStatement(String product) {
        DatabaseUrl url = DatabaseUrl.of(url(product));
        CountingSource statements = counting(url);
        RowLockStore first = closing(counted(url, statements, "wakeup=poll"));
        RowLockStore second = closing(counted(url, statements, "wakeup=poll"));
        turns(first, second, statements);
        assertThat(turns(first, second, statements)).as("a hand-over").isEqualTo(1);
        assertThat(release(first, statements)).as("one in vain, and a release").isEqualTo(2);
        assertThat(release(first, statements)).as("a release").isEqualTo(1);
    }

    /** The statement that hands over does nothing then, and a transition follows. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void whoHandsOverWithOneStatementPassesADeadWaiterOver(String product) throws SQLException {
        DatabaseUrl url = DatabaseUrl.of(url(product));
        CountingSource statements = counting(url);
        RowLockStore first = closing(counted(url, statements, "wakeup=poll"));
        RowLockStore second = closing(counted(url, statements, "wakeup=poll"));
        turns(first, second, statements);
        Claim holder = alice.mutex(name).withLease(LONG);
        Claim dead = bob.mutex(name).withLease(LONG);
        granted(first, holder);
        waiting(second, dead);
        RecordingListener living = waiting(second, bob.mutex(name).withLease(LONG));
        endFirstTicket(url.url());
        statements.take();
        assertThat(released(first, holder)).isTrue();
        assertThat(statements.take()).as("a hand-over in vain comes first").hasSizeGreaterThan(1);
        awaitGrant(living);
        assertThat(renewed(second, dead)).isInstanceOf(Renewed.Gone.class);
    }

    private static void endFirstTicket(String url) throws SQLException {
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT others FROM holdfast_lock");
                PreparedStatement update = connection.prepareStatement("UPDATE holdfast_lock SET others = ?")) {
            rows.next();
            update.setString(1, rows.getString(1).replaceFirst("^(wait\t[^\t]+\t\\d+\t)\\d+", "$11"));
            update.executeUpdate();
        }
    }

    private int turns(RowLockStore first, RowLockStore second, CountingSource statements) {
        Claim holder = alice.mutex(name).withLease(LONG);
        Claim next = bob.mutex(name).withLease(LONG);
        granted(first, holder);
        waiting(second, next);
        statements.take();
        assertThat(get(first.release(holder)).wasOwner()).isTrue();
        int requests = statements.take().size();
        get(second.release(next));
        return requests;
    }

    private int release(RowLockStore store, CountingSource statements) {
        Claim holder = alice.mutex(name).withLease(LONG);
        granted(store, holder);
        statements.take();
        get(store.release(holder));
        return statements.take().size();
    }

    /** Each waits in a client of its own: as a read and a write, the refreshes of many clients would make each other try again. */
    @Test
    void aTicketIsRefreshedWithOneRequest() {
        DatabaseUrl url = DatabaseUrl.of(url("postgresql"));
        CountingSource statements = counting(url);
        RowLockStore first = closing(counted(url, statements));
        Claim holder = alice.mutex(name).withLease(LONG);
        granted(first, holder);
        Map<RowLockStore, Claim> claims = new LinkedHashMap<>();
        for (int i = 0; i < 4; i++) {
            Claim claim = bob.mutex(name).withLease(LONG);
            RowLockStore store = closing(counted(url, statements));
            waiting(store, claim);
            claims.put(store, claim);
        }
        statements.take();
        List<Integer> positions = new ArrayList<>();
        claims.forEach((store, claim) -> {
            Renewed answer = renewed(store, claim.withOwner(holder.owner()));
            assertThat(answer).isInstanceOf(Renewed.Waiting.class);
            positions.add(((Renewed.Waiting) answer).position());
        });
        assertThat(statements.take()).as("requests of four clients").hasSize(4);
        assertThat(positions).containsExactly(0, 1, 2, 3);
        assertThat(get(first.inspect(name)).orElseThrow().waiters())
                .extracting(ResourceState.Entry::claim)
                .containsExactlyElementsOf(claims.values().stream()
                        .map(claim -> claim.withOwner(holder.owner()))
                        .toList());
    }

    /** Its client was paused, and does not know that the time of the ticket is over. */
    @Test
    void aTicketThatIsOverIsNotRefreshed() {
        String url = url("postgresql");
        LockStore store = closing(counted(DatabaseUrl.of(url), counting(DatabaseUrl.of(url))));
        granted(store, alice.mutex(name).withLease(LONG));
        Claim waiter = bob.mutex(name).withLease(LONG);
        waiting(store, waiter);
        run(
                url,
                "UPDATE holdfast_lock SET others = regexp_replace(others, E'^(wait\t[^\t]+\t[0-9]+\t)[0-9]+', E'\\\\11')");
        assertThat(renewed(store, waiter)).isInstanceOf(Renewed.Gone.class);
    }

    // The second client hands the lock over while one more waits.
    private void rememberAQueue(RowLockStore first, RowLockStore second) {
        List<Claim> claims = Stream.generate(() -> alice.mutex(name).withLease(LONG))
                .limit(4)
                .toList();
        granted(first, claims.get(0));
        RecordingListener ofSecond = waiting(second, claims.get(1));
        List<RecordingListener> others = List.of(waiting(first, claims.get(2)), waiting(first, claims.get(3)));
        get(first.release(claims.get(0)));
        awaitGrant(ofSecond);
        get(second.release(claims.get(1)));
        awaitGrant(others.get(0));
        get(first.release(claims.get(2)));
        awaitGrant(others.get(1));
        get(first.release(claims.get(3)));
    }

    private CountingSource counting(DatabaseUrl url) {
        return closing(new CountingSource(
                new ConnectionPool(url, url.properties(TIMEOUT, TIMEOUT, true), 200, TIMEOUT, TIMEOUT, "test")));
    }

    /** Also where the statements that change a queue do not read it. */
    @ParameterizedTest
    @CsvSource({
        "postgresql, 'wait\tbroken\n'", "postgresql, broken", "postgresql, '" + TOO_MANY + "'",
        "mariadb, 'wait\tbroken\n'", "mariadb, broken", "mariadb, '" + TOO_MANY + "'",
        "sqlite, 'wait\tbroken\n'", "sqlite, broken", "sqlite, '" + TOO_MANY + "'"
    })
    void queueThatSomebodyElseWroteIntoIsReported(String product, String others, @TempDir Path folder)
            throws SQLException {
        boolean isFile = product.equals("sqlite");
        String url = isFile ? "jdbc:sqlite:" + folder.resolve("locks.db") : url(product);
        LockStore store = isFile
                ? closing(new SqliteLockStoreProvider().open(url.substring("jdbc:".length()), MonotonicClock.SYSTEM))
                : open(url);
        Claim holder = alice.mutex(name).withLease(LONG);
        granted(store, holder);
        waiting(store, bob.mutex(name));
        try (Connection connection = connect(url);
                PreparedStatement statement = connection.prepareStatement("UPDATE holdfast_lock SET others = ?")) {
            statement.setString(1, others);
            statement.executeUpdate();
        }
        assertThat(failure(store.release(holder))).hasMessageContaining("delete the row");
        RecordingListener listener = new RecordingListener();
        store.enqueue(bob.mutex(name), listener);
        assertThat(failure(listener)).hasMessageContaining("delete the row");
    }

    // The first has the lock, the others join the queue, and then all release it in turn. They join one by one: those
    // that meet skip the row on MariaDB, and on PostgreSQL wait for it, on a busy machine for too long, and then read
    // and write it.
    private void allHaveOneTurn(List<RowLockStore> stores, CountingSource statements) {
        boolean isNotified = stores.get(0).traits().product().equals("postgresql");
        Claim holder = alice.mutex(name).withLease(LONG);
        granted(stores.get(0), holder);
        statements.take();
        Map<RowLockStore, Claim> claims = new HashMap<>();
        Map<RowLockStore, RecordingListener> listeners = new HashMap<>();
        for (RowLockStore store : stores.subList(1, stores.size())) {
            Claim claim = bob.mutex(name).withLease(LONG);
            claims.put(store, claim);
            listeners.put(store, waiting(store, claim));
        }
        if (isNotified) {
            claims.keySet().forEach(store -> awaitUntil(store::isNotified));
        }
        get(stores.get(0).release(holder));
        while (!listeners.isEmpty()) {
            awaitUntil(() -> listeners.values().stream()
                    .anyMatch(listener -> listener.outcome().isPresent()));
            RowLockStore granted = listeners.keySet().stream()
                    .filter(store -> listeners.get(store).outcome().isPresent())
                    .findFirst()
                    .orElseThrow();
            awaitGrant(listeners.remove(granted));
            get(granted.release(claims.get(granted)));
        }
    }

    static RowLockStore counted(DatabaseUrl url, CountingSource statements) {
        return counted(url, statements, "wakeup=default");
    }

    private static RowLockStore counted(DatabaseUrl url, CountingSource statements, String option) {
        Dialect dialect = url.dialect(ServerOptions.DEFAULTS, true);
        ServerOptions options = ServerOptions.parse("ticketTtl=10m&" + option); // no refresh is needed meanwhile
        WaiterNotifier notifier = ServerStoreFactory.notifier(dialect, statements, options, MonotonicClock.SYSTEM);
        StoreWiring wiring = ServerStoreFactory.wiring(notifier, options, TIMEOUT, true);
        return ServerStoreFactory.open(dialect, unclosed(statements), options, wiring, MonotonicClock.SYSTEM);
    }

    // All stores of the test share it.
    private static ConnectionSource unclosed(ConnectionSource shared) {
        return new ConnectionSource() {
            @Override
            public Connection open() throws SQLException {
                return shared.open();
            }

            @Override
            public Use use() {
                return Use.FOR_A_CALL;
            }

            @Override
            public void close() {}

            @Override
            public String toString() {
                return shared.toString();
            }
        };
    }
}
