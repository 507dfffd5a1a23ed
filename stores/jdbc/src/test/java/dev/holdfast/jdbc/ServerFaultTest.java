package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.FaultProxy.Way;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The errors and the behaviour of a store when its server, or a connection, fails. */
class ServerFaultTest extends Servers {

    /** Nothing passes for so long when everything is done, even on a busy machine. */
    private static final long QUIET_MILLIS = 100;

    private static final int MOST_TRIES = 10;

    /** A connection that nobody has used for longer than 20 seconds is checked before its next use. */
    private static final Duration UNUSED = Duration.ofSeconds(20).plusNanos(1);

    private final LockName name = new LockName("fault");

    @ParameterizedTest
    @ValueSource(strings = {"full", "relaxed"})
    void crashAfterAHandOver(String durability) {
        PostgresServer server = closing(PostgresServer.start());
        LockStore store = open(server.newSchema() + "&holdfast.ticketTtl=5m&holdfast.durability=" + durability);
        Claim holder = alice.mutex(name);
        long first = granted(store, holder).counter();
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        get(store.release(holder));
        awaitGrant(listener);
        server.kill();
        server.startAgain();
        Renewed answer = repaired(() -> renewed(store, waiter));
        if (durability.equals("full")) {
            assertThat(answer)
                    .as("what was granted")
                    .isInstanceOfSatisfying(
                            Granted.class, held -> assertThat(held.counter()).isGreaterThan(first));
            assertThat(repaired(() -> get(store.tryAcquire(alice.mutex(name))))).isInstanceOf(Attempt.Busy.class);
        }
        repaired(() -> get(store.inspect(name)))
                .ifPresent(state -> assertThat(state.holders()).hasSizeLessThanOrEqualTo(1));
    }

    @Test
    void crashAfterARelease() {
        PostgresServer server = closing(PostgresServer.start());
        LockStore store = open(server.newSchema());
        Claim holder = alice.mutex(name).withLease(Duration.ofSeconds(4));
        long first = granted(store, holder).counter();
        get(store.release(holder));
        server.kill();
        server.startAgain();
        // The crash may have lost the release, but not the grant: then the test waits for the end of the lease.
        Claim next = bob.mutex(name);
        awaitUntil(() -> repaired(() -> get(store.tryAcquire(next))) instanceof Granted);
        assertThat(((Granted) repaired(() -> renewed(store, next))).counter()).isGreaterThan(first);
        assertThat(repaired(() -> renewed(store, holder))).isInstanceOf(Renewed.Gone.class);
    }

    @Test
    void restartKeepsGrantsQueueAndTokens() {
        PostgresServer server = closing(PostgresServer.start());
        LockStore store = open(server.newSchema() + "&holdfast.ticketTtl=10m");
        Claim holder = alice.mutex(name);
        long counter = granted(store, holder).counter();
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        server.stop();
        StoreException away = failure(store.tryAcquire(alice.mutex(new LockName("other"))));
        assertThat(away.retryable()).isTrue();
        assertThat(failure(store.tryAcquire(alice.mutex(new LockName("other")))).effect())
                .as("no connection, nothing sent")
                .isEqualTo(Effect.NONE);
        server.startAgain();
        Granted held = (Granted) repaired(() -> renewed(store, holder));
        assertThat(held.counter()).isEqualTo(counter);
        assertThat(repaired(() -> renewed(store, waiter))).isInstanceOf(Renewed.Waiting.class);
        repaired(() -> get(store.release(holder.again())));
        awaitGrant(listener);
    }

    @ParameterizedTest
    @CsvSource({
        "postgresql,TO_SERVER",
        "postgresql,TO_CLIENT",
        "mariadb,TO_SERVER",
        "mariadb,TO_CLIENT",
        "mysql,TO_CLIENT"
    })
    void lostRequestsAndRepliesAreRepairedByRepeating(String product, Way cut) throws Exception {
        String url = url(product);
        FaultProxy proxy = closing(FaultProxy.before(url));
        LockStore store = open(proxy.in(url));
        LockStore direct = open(url);
        Claim claim = alice.mutex(name);
        StoreException failure = cut(cut, proxy, store, () -> store.tryAcquire(claim));
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(failure.retryable()).isTrue();
        // The server may not have noticed yet that the connection is gone, and keeps the row until then.
        awaitUntil(() -> repaired(() -> get(store.tryAcquire(claim.again()))) instanceof Granted);
        long counter = granted(store, claim.again()).counter();
        assertThat(((Granted) renewed(direct, claim)).counter()).isEqualTo(counter);
        assertThat(cut(cut, proxy, store, () -> store.release(claim.again())).effect())
                .isEqualTo(Effect.UNKNOWN);
        repaired(() -> get(store.release(claim.again())));
        assertThat(get(store.tryAcquire(claim))).as("a late copy").isInstanceOf(Attempt.Busy.class);
        granted(direct, bob.mutex(name));
    }

    // A connection is opened for the first call, and checked after another one has broken; the cut is to hit what comes
    // after. It may hit the thread that cleans up all the same, or a connection that the pool opens: then the call does
    // not fail, and is made again.
    private StoreException cut(Way cut, FaultProxy proxy, LockStore store, Supplier<CompletionStage<?>> call) {
        for (int tries = 1; ; tries++) {
            awaitQuiet(proxy);
            get(store.inspect(name));
            proxy.cutAfter(cut, 0);
            try {
                get(call.get());
            } catch (StoreException failure) {
                assertThat(proxy.hasCut()).isTrue();
                return failure;
            }
            assertThat(tries).as("calls that were not cut").isLessThan(MOST_TRIES);
            proxy.cutNothing();
        }
    }

    // Until the pool has opened its connections, so that the cut does not hit these: nothing passes any more.
    private static void awaitQuiet(FaultProxy proxy) {
        AtomicLong before = new AtomicLong(-1);
        awaitUntil(() -> {
            pause(QUIET_MILLIS);
            long now = proxy.bytes(Way.TO_SERVER) + proxy.bytes(Way.TO_CLIENT);
            return before.getAndSet(now) == now;
        });
    }

    @Test
    void killedConnectionsAreReplaced() throws InterruptedException {
        String url = url("postgresql");
        LockStore store = open(url);
        AtomicBoolean done = new AtomicBoolean();
        Thread killer = new Thread(() -> {
            while (!done.get()) {
                run(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'");
            }
        });
        killer.start();
        try {
            for (int i = 0; i < 30; i++) {
                Claim claim = alice.mutex(name);
                repaired(() -> get(store.tryAcquire(claim)));
                assertThat(repaired(() -> renewed(store, claim))).isInstanceOf(Granted.class);
                repaired(() -> get(store.release(claim.again())));
            }
        } finally {
            done.set(true);
            // It must not kill connections of the next test.
            killer.join();
        }
        assertThat(repaired(() -> get(store.list("", 10)))).isEmpty();
    }

    /** As a server does after its time limit, or its administrator. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void connectionThatHasEndedWhileNobodyUsedItIsReplaced(String product) {
        boolean isPostgres = product.equals("postgresql");
        String url = url(product);
        ManualClock clock = new ManualClock();
        LockStore store = closing(new JdbcLockStoreProvider().open(url, clock));
        String self = isPostgres ? "pg_backend_pid()" : "(connection_id())";
        run(url, "ALTER TABLE holdfast_lock ADD COLUMN session bigint DEFAULT " + self);
        // This writes a row, and does not begin the removal of idle ones, which would give the connection back.
        get(store.release(alice.mutex(name)));
        long session = number(url, "SELECT session FROM holdfast_lock");
        run(url, isPostgres ? "SELECT pg_terminate_backend(" + session + ")" : "KILL " + session);
        String isThere = isPostgres
                ? "SELECT count(*) FROM pg_stat_activity WHERE pid = "
                : "SELECT count(*) FROM information_schema.processlist WHERE id = ";
        awaitUntil(() -> number(url, isThere + session) == 0);
        clock.advance(UNUSED);
        granted(store, bob.mutex(name));
    }

    private static long number(String url, String query) {
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            assertThat(rows.next()).as(query).isTrue();
            return rows.getLong(1);
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }

    @Test
    void replicaThatMayNotWriteIsNamed() {
        String url = url("postgresql");
        open(url);
        LockStore store = open(url + "&options=-c%20default_transaction_read_only=on");
        StoreException failure = failure(store.tryAcquire(alice.mutex(name)));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).as("it may be promoted").isTrue();
        assertThat(failure).hasMessageContaining("read-only").hasMessageContaining("targetServerType=primary");
    }

    @Test
    void missingRightsAreNamed() {
        String url = url("postgresql");
        String schema = url.replaceAll(".*currentSchema=", "");
        run(url, "DROP ROLE IF EXISTS poor", "CREATE ROLE poor LOGIN", "GRANT USAGE ON SCHEMA " + schema + " TO poor");
        String poor = url.replace("user=holdfast", "user=poor");
        assertThatThrownBy(() -> open(poor))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("cannot be made")
                .hasMessageContaining("holdfast schema");
        open(url);
        assertThatThrownBy(() -> open(poor))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        refused -> assertThat(refused.retryable()).isFalse())
                .hasMessageContaining("permission denied");
        run(url, "GRANT SELECT ON holdfast_lock, holdfast_schema TO poor");
        LockStore store = open(poor);
        StoreException failure = failure(store.tryAcquire(alice.mutex(name)));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isFalse();
        assertThat(failure).hasMessageContaining("SELECT, INSERT, UPDATE and DELETE on holdfast_lock");
    }

    @Test
    void exhaustedPoolHadNoEffect() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url("postgresql"));
        config.setMaximumPoolSize(1);
        config.setConnectionTimeout(500);
        HikariDataSource pool = closing(new HikariDataSource(config));
        LockStore store = closing(JdbcLockStore.over(pool));
        Claim claim = alice.mutex(name);
        try (Connection all = pool.getConnection()) {
            StoreException failure = failure(store.tryAcquire(claim));
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isTrue();
            assertThat(all.isValid(1)).isTrue();
        }
        granted(store, claim);
        assertThat(get(store.renew(List.of(claim))).get(0)).isInstanceOf(Granted.class);
    }
}
