package dev.holdfast.fence.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockObserver;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.StoreTest;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The assertion that a claim is live, in a transaction of the user's. */
class RequireLiveTest {

    private static final JdbcFence FENCE = JdbcFence.standard().patience(Duration.ofMillis(300));
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final LockOptions FIXED = LockOptions.defaults().withFixedLease(SHORT);
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int MOST_TRIES = 20;
    private static final int OTHERS = 30;

    @TempDir
    Path folder;

    private final List<AutoCloseable> opened = new ArrayList<>();
    private UserDatabase database;
    private Holdfast locks;

    private void open(String product) throws SQLException {
        database = UserDatabase.open(product, folder);
        locks = client();
    }

    private Holdfast client() {
        String option = database.product().equals("sqlite") ? "?busyTimeout=" : "?holdfast.busyTimeout=";
        String url = database.storeUrl();
        Holdfast client =
                Holdfast.connect((url.contains("?") ? url + option.replace('?', '&') : url + option) + "2500ms");
        opened.add(client);
        return client;
    }

    // In a loop: a permit to go on may be left over from an earlier wait.
    private static void pass(Duration time) {
        long start = System.nanoTime();
        for (long left = time.toNanos(); left > 0; left = time.toNanos() - (System.nanoTime() - start)) {
            LockSupport.parkNanos(left);
        }
    }

    private Connection begin() throws SQLException {
        Connection connection = database.begin();
        opened.add(connection);
        return connection;
    }

    @AfterEach
    void close() throws Exception {
        // Connections first: a client cannot release what they have locked.
        for (AutoCloseable one : opened) {
            if (one instanceof Connection connection) {
                connection.close();
            }
        }
        for (AutoCloseable one : opened) {
            one.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb"})
    void tablesOfAnotherName(String product) throws Exception {
        open(product);
        String url = database.storeUrl();
        String option = (url.contains("?") ? "&" : "?") + (product.equals("sqlite") ? "table=" : "holdfast.table=");
        Holdfast named = Holdfast.connect(url + option + "app_lock");
        opened.add(named);
        Connection connection = begin();
        try (Lease lease = named.lock("named").acquire()) {
            FENCE.table("app_lock").requireLive(connection, lease);
            connection.rollback();
            assertThatThrownBy(() -> FENCE.requireLive(connection, lease)).isInstanceOf(LockLostException.class);
            connection.rollback();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void liveClaimsOfEveryKindPass(String product) throws Exception {
        open(product);
        Connection connection = begin();
        try (Lease mutex = locks.lock("mutex").acquire();
                Lease several = locks.multiLock("b", "a", "c").acquire();
                Lease permits = locks.semaphore("pool", 3).acquire(2)) {
            FENCE.requireLive(connection, mutex);
            FENCE.requireLive(connection, mutex);
            FENCE.requireLive(connection, several);
            FENCE.requireLive(connection, permits);
            FENCE.parallel().requireLive(connection, mutex);
            FENCE.requireLive(connection, "a", several.token("a"));
            connection.commit();
        }
        DistributedReadWriteLock pair = locks.readWriteLock("pair");
        for (DistributedLock lock : List.of(locks.lock("thread"), pair.writeLock(), pair.readLock())) {
            lock.lock();
            try {
                FENCE.requireLive(connection, lock);
                connection.commit();
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * The main test: while the transaction is open nobody else gets the lock, however long ago the lease has ended.
     */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void nobodyIsGrantedTheNameUntilTheTransactionEnds(String product) throws Exception {
        open(product);
        Holdfast other = client();
        for (boolean parallel : new boolean[] {false, true}) {
            if (parallel && product.equals("sqlite")) {
                // There it is the same lock, of the whole file.
                continue;
            }
            Connection connection = begin();
            Lease lease = guarded(parallel ? FENCE.parallel() : FENCE, connection);
            pass(SHORT.multipliedBy(2));
            assertThat(lease.isValid()).isFalse();
            assertThat(tryAcquire(other, "door")).isEmpty();
            connection.commit();
            try (Lease next = other.lock("door").acquire(PATIENCE)) {
                assertThat(next.token()).isGreaterThan(lease.token());
            }
        }
    }

    /** A short lease that was asserted to be live, which takes more than one try if this thread is paused for as long. */
    private Lease guarded(JdbcFence fence, Connection connection) throws Exception {
        for (int tries = 1; ; tries++) {
            Lease lease = locks.lock("door", FIXED).acquire();
            try {
                fence.requireLive(connection, lease);
                return lease;
            } catch (LockLostException tooLate) {
                if (tries == MOST_TRIES) {
                    throw tooLate;
                }
                connection.rollback();
            }
        }
    }

    private static Optional<Lease> tryAcquire(Holdfast client, String name) {
        try {
            return client.lock(name, LockOptions.defaults().withStoreTimeout(Duration.ofMillis(500)))
                    .tryAcquire();
        } catch (LockException storeIsBusy) {
            return Optional.empty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void aLeaseThatIsOverIsRefusedByTheDatabasesClock(String product) throws Exception {
        open(product);
        // Begun, and its time fixed for functions such as H2's CURRENT_TIMESTAMP, while the lease was live.
        Connection connection = begin();
        if (!product.equals("sqlite")) {
            connection
                    .createStatement()
                    .executeQuery("SELECT CURRENT_TIMESTAMP")
                    .close();
        }
        // A client would release what it has lost. This one is dead.
        try (LockStore store = database.store()) {
            Claim claim = new Claimant("dead", SHORT).mutex(new LockName("door"));
            Granted granted =
                    (Granted) store.tryAcquire(claim).toCompletableFuture().join();
            pass(SHORT.multipliedBy(2));
            assertLost(connection, "door", granted.counter() << 10, LossReason.EXPIRED, "its lease is over");
        }
    }

    /** At REPEATABLE READ, MariaDB's default, a plain read would show a lease that was over long ago. */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgresql", "mariadb", "mysql"})
    void aLongTransactionSeesThatItsLockWasRenewed(String product) throws Exception {
        open(product);
        Lease lease = locks.lock("door", LockOptions.defaults().withLease(LONG)).acquire();
        long expires = database.number("SELECT expires FROM holdfast_lock");
        // It is so when the transaction begins, and then the lease is renewed.
        database.run("UPDATE holdfast_lock SET expires = 1");
        Connection connection = begin();
        connection
                .createStatement()
                .executeQuery("SELECT COUNT(*) FROM holdfast_lock")
                .close();
        database.run("UPDATE holdfast_lock SET expires = " + expires);
        FENCE.requireLive(connection, lease);
        connection.rollback();
        lease.release();
        // And one that began before there was such a lock.
        connection
                .createStatement()
                .executeQuery("SELECT COUNT(*) FROM holdfast_lock")
                .close();
        Lease door = locks.lock("door").acquire();
        FENCE.requireLive(connection, door);
        connection.rollback();
        door.release();
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void aClaimThatIsGoneIsRefused(String product) throws Exception {
        open(product);
        Holdfast other = client();
        Connection connection = begin();
        long released;
        try (Lease lease = locks.lock("door").acquire()) {
            released = lease.token();
        }
        assertLost(connection, "door", released, LossReason.BROKEN, "released");
        Lease broken = locks.lock("door").acquire();
        other.lock("door").forceRelease();
        assertLost(connection, "door", broken.token(), LossReason.BROKEN, "broken");
        assertThatThrownBy(() -> FENCE.requireLive(connection, broken)).isInstanceOf(LockLostException.class);
        connection.rollback();
        try (Lease next = other.lock("door").acquire(PATIENCE)) {
            assertLost(connection, "door", released, LossReason.TAKEN, "granted again");
            assertLost(connection, "door", broken.token(), LossReason.TAKEN, "granted again");
            FENCE.requireLive(connection, "door", next.token());
            connection.rollback();
        }
    }

    private static void assertLost(Connection connection, String name, long token, LossReason reason, String why)
            throws SQLException {
        assertThatThrownBy(() -> FENCE.requireLive(connection, name, token))
                .isInstanceOfSatisfying(
                        LockLostException.class,
                        lost -> assertThat(lost.reason()).isEqualTo(reason))
                .hasMessageContainingAll(name, Long.toString(token), why, "Roll the transaction back");
        connection.rollback();
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void aLockOfAnotherStoreIsRefused(String product) throws Exception {
        open(product);
        locks.lock("other").acquire().release();
        Connection connection = begin();
        try (MemoryLockStore elsewhere = new MemoryLockStore(MonotonicClock.SYSTEM);
                Holdfast foreign = Holdfast.over(elsewhere)) {
            for (String name : List.of("unheard of", "other")) {
                Lease lease = foreign.lock(name).acquire();
                assertThatThrownBy(() -> FENCE.requireLive(connection, lease))
                        .isInstanceOf(LockLostException.class)
                        .hasMessageContaining(name);
                connection.rollback();
                lease.release();
            }
            assertLost(connection, "unheard of", 1L << 40, LossReason.BROKEN, "never granted it");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void misuseIsRefused(String product) throws Exception {
        open(product);
        Lease lease = locks.lock("door").acquire();
        try (Connection autocommit = database.connect()) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> FENCE.requireLive(autocommit, lease))
                    .withMessageContainingAll("autocommit", "setAutoCommit(false)");
        }
        Connection connection = begin();
        assertThatIllegalArgumentException().isThrownBy(() -> FENCE.requireLive(connection, "door", 0));
        assertThatIllegalArgumentException().isThrownBy(() -> FENCE.requireLive(connection, "do\u0000or", 1));
        assertThatThrownBy(() -> FENCE.requireLive(connection, locks.lock("door")))
                .isInstanceOf(IllegalMonitorStateException.class);
        lease.release();
        assertThatIllegalStateException()
                .isThrownBy(() -> FENCE.requireLive(connection, lease))
                .withMessageContaining("released before");
        Lease over = locks.lock("door", FIXED).acquire();
        pass(SHORT.multipliedBy(2));
        assertThatThrownBy(() -> FENCE.requireLive(connection, over))
                .isInstanceOf(LockLostException.class)
                .hasMessageContaining("this client's clock");
        assertThatIllegalArgumentException().isThrownBy(() -> FENCE.patience(Duration.ofMillis(-1)));
    }

    /** A lock that is released before the commit goes to the next thread of the JVM without the database's knowledge. */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgresql", "mariadb"})
    void threadsToWhomTheLockWasPassedOnCommitOneAfterTheOther(String product) throws Exception {
        database = UserDatabase.open(product, folder);
        locks = Holdfast.builder()
                .url(database.storeUrl())
                .handOffTime(Duration.ofSeconds(30))
                .connect();
        opened.add(locks);
        Connection first = begin();
        Connection second = begin();
        DistributedLock lock = locks.lock("door");
        Lease mine = lock.acquire();
        CompletableFuture<Lease> next = lock.acquireAsync();
        FENCE.requireLive(first, mine);
        mine.release();
        Lease theirs = next.get(20, TimeUnit.SECONDS);
        assertThat(theirs.token()).isEqualTo(mine.token() + 1);
        assertThatThrownBy(() -> FENCE.requireLive(second, theirs)).isInstanceOf(SQLTransientException.class);
        second.rollback();
        CompletableFuture<Void> patient = CompletableFuture.runAsync(() -> {
            try {
                JdbcFence.standard().requireLive(second, theirs);
            } catch (SQLException failure) {
                throw new AssertionError(failure);
            }
        });
        pass(Duration.ofMillis(50));
        assertThat(patient).isNotDone();
        first.commit();
        patient.get(20, TimeUnit.SECONDS);
        second.commit();
        assertThatIllegalStateException().isThrownBy(() -> FENCE.requireLive(first, mine));
        theirs.release();
    }

    /** A long transaction of one user ends no other lease of the client, and its own work stays safe. */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgresql", "mariadb"})
    void otherLeasesAreRenewedWhileAGuardIsHeld(String product) throws Exception {
        database = UserDatabase.open(product, folder);
        // The client's time passes in an instant; that of the database does not, for which the leases do not end.
        ManualClock clock = new ManualClock();
        AtomicInteger renewals = new AtomicInteger();
        LockStore store = database.store();
        locks = Holdfast.builder()
                .store(store)
                .clock(clock)
                .observer(new LockObserver() {
                    @Override
                    public void renewed(int claims, int failed, Duration took) {
                        renewals.addAndGet(claims - failed);
                    }
                })
                .connect();
        opened.add(locks);
        opened.add(store);
        LockOptions renewed = LockOptions.defaults().withLease(LONG);
        List<Lease> others = new ArrayList<>();
        for (int i = 0; i < OTHERS; i++) {
            others.add(locks.lock("other-" + i, renewed).acquire());
        }
        Lease guarded = locks.lock("guarded", renewed).acquire();
        Connection connection = begin();
        FENCE.requireLive(connection, guarded);
        for (int round = 0; round < 4; round++) {
            int before = renewals.get();
            clock.advance(LONG.dividedBy(2));
            StoreTest.awaitUntil(() -> renewals.get() >= before + OTHERS, "others are not renewed");
        }
        assertThat(others).allMatch(Lease::isValid);
        locks.lock("new").acquire(PATIENCE).release();
        connection.commit();
        for (Lease other : others) {
            other.release();
        }
    }

    /** A store of which only the clock is known. */
    @Test
    void anyDatabaseWithAClockWillDo() throws Exception {
        String clock = "(SELECT CAST(EXTRACT(EPOCH FROM executing_statement_start) * 1000000 AS BIGINT) FROM"
                + " INFORMATION_SCHEMA.SESSIONS WHERE session_id = SESSION_ID())";
        database = UserDatabase.open("h2", folder);
        database.run("CREATE TABLE mine (id INTEGER)");
        locks = Holdfast.connect(database.storeUrl() + "?holdfast.clock=" + clock);
        opened.add(locks);
        JdbcFence fence = JdbcFence.standard().clock(clock);
        Connection connection = FenceAdvanceTest.unknown(begin());
        Lease lease = locks.lock("d\u00f6or").acquire();
        fence.requireLive(connection, lease);
        assertThat(tryAcquire(locks, "d\u00f6or")).isEmpty();
        connection.commit();
        lease.release();
        assertThatThrownBy(() -> fence.requireLive(connection, "d\u00f6or", lease.token()))
                .isInstanceOf(LockLostException.class);
        assertThatIllegalArgumentException().isThrownBy(() -> fence.clock(" "));
    }
}
