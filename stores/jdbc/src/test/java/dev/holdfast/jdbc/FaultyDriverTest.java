package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.dialect.H2Dialect;
import dev.holdfast.jdbc.sqlite.BootId;
import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.HistoryChecker;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.Seeds;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Clients go on while each call of the driver may fail, in all ways in which one does and in some in which none should: no two hold at
 * once, tokens grow, what is said to have had no effect had none, all ends when it is repeated, and each connection of a pool comes
 * back as it was, or not to be used again.
 */
@Timeout(300)
class FaultyDriverTest extends Servers {

    private static final int THREADS = 4;
    private static final int OPERATIONS = Integer.getInteger("holdfast.faulty.operations", 60);
    private static final double RATE = 0.01;
    private static final List<LockName> MUTEXES = List.of(new LockName("m0"), new LockName("m1"), new LockName("m2"));
    private static final LockName SEMAPHORE = new LockName("s");
    private static final List<LockName> ALL =
            Stream.concat(MUTEXES.stream(), Stream.of(SEMAPHORE)).toList();
    private static final int PERMITS = 3;

    @TempDir
    Path folder;

    private final Map<LockName, HistoryChecker> histories = new ConcurrentHashMap<>();
    private final Queue<String> wrongs = new ConcurrentLinkedQueue<>();
    private LockStore truth;
    private boolean isAdopted;

    /** In a pool of the user's, whose connections come in autocommit mode or not. */
    @ParameterizedTest
    @CsvSource({
        "h2,true,",
        "h2,false,",
        "postgresql,true,",
        "postgresql,false,",
        "mariadb,false,",
        "mysql,true,",
        "h2,true,insert",
        "postgresql,false,flag",
        "mariadb,true,flag"
    })
    void allGoesOnInAPoolOfTheUsers(String product, boolean autoCommit, String layout) throws Exception {
        String url = url(product);
        isAdopted = layout != null;
        String options = isAdopted ? ClassicProgram.makeTable(url, layout) : "";
        for (LockName lock : isAdopted ? MUTEXES : List.<LockName>of()) {
            closing(new ClassicProgram(url, layout)).introduce(lock.value());
        }
        truth = open(url + options);
        FaultyDriver driver = driver(product, () -> connect(url), autoCommit, true, product + autoCommit + layout);
        String ofStore = "busyTimeout=30s" + options.replace("&holdfast.", "&");
        allGoesOn(driver, () -> JdbcLockStore.over(driver.dataSource(), ofStore));
        assertThat(driver.failed()).containsAll(FaultyDriver.CERTAIN);
    }

    @ParameterizedTest
    @CsvSource({"h2"})
    void allGoesOnInOurOwnPool(String product) throws Exception {
        String url = url(product);
        truth = open(url);
        FaultyDriver driver = driver(product, () -> connect(url), true, false, product);
        allGoesOn(driver, () -> {
            ConnectionPool pool = new ConnectionPool(
                    driver.dataSource(),
                    H2Dialect.PREPARES,
                    ServerOptions.DEFAULTS.all(false),
                    product,
                    Duration.ofSeconds(5),
                    "faulty");
            return H2StoreFactory.open(new H2Dialect(product), pool, ServerOptions.DEFAULTS, MonotonicClock.SYSTEM);
        });
        assertThat(driver.failed()).contains("executeQuery");
    }

    @ParameterizedTest
    @CsvSource({"sqlite"})
    void allGoesOnInAFile(String product) throws Exception {
        Path path = folder.resolve("locks.db");
        truth = closing(new SqliteLockStoreProvider().open("sqlite:" + path, MonotonicClock.SYSTEM));
        SqliteDialect dialect = new SqliteDialect(MonotonicClock.SYSTEM, BootId.ofThisHost(), path.toString());
        SqliteFile file = new SqliteFile(path, StoreOptions.DEFAULTS.busyTimeout(), dialect);
        FaultyDriver driver = driver(product, file::open, true, false, product);
        ConnectionSource source = new ConnectionSource() {
            @Override
            public Connection open() throws SQLException {
                return driver.lend();
            }

            @Override
            public Use use() {
                return Use.FOR_EVER;
            }

            @Override
            public void close() {}
        };
        allGoesOn(
                driver,
                () -> SqliteLockStoreProvider.open(dialect, source, StoreOptions.DEFAULTS, MonotonicClock.SYSTEM));
        assertThat(driver.failed()).contains("executeQuery");
    }

    private static FaultyDriver driver(
            String product, FaultyDriver.Opener opener, boolean autoCommit, boolean isPool, String purpose) {
        return new FaultyDriver(
                opener,
                connection -> settings(product, connection),
                refusals(product),
                autoCommit,
                isPool,
                Seeds.of("driver " + purpose));
    }

    private void allGoesOn(FaultyDriver driver, Supplier<LockStore> opener) throws Exception {
        List<LockStore> stores = List.of(opener.get(), opener.get());
        driver.fail(RATE);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<?>> done = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                Random random = new Random(Seeds.of("client " + i));
                Client client = new Client(stores.get(i % stores.size()), "t" + i, random);
                done.add(threads.submit(client::run));
            }
            for (Future<?> one : done) {
                one.get();
            }
        } finally {
            driver.fail(0);
            threads.shutdownNow();
        }
        for (LockStore store : stores) {
            assertThat(get(store.list("", 10))).isEmpty();
            store.close();
        }
        for (LockName lock : isAdopted ? MUTEXES : ALL) {
            assertThat(get(truth.inspect(lock))).as("%s in the end", lock).isEmpty();
        }
        histories.values().forEach(HistoryChecker::check);
        wrongs.addAll(driver.wrongs());
        assertThat(wrongs).isEmpty();
        awaitUntil(() -> driver.lent() == 0, "a connection was not given back");
        driver.close();
        awaitUntil(() -> driver.open() == 0, "a connection was not closed");
        assertThat(driver.faults()).containsOnlyKeys(FaultyDriver.Fault.values());
    }

    private static String settings(String product, Connection connection) throws SQLException {
        String sql = switch (product) {
            case "postgresql" ->
                "SELECT concat_ws(' ', current_setting('lock_timeout'), current_setting('synchronous_commit'),"
                        + " current_setting('idle_in_transaction_session_timeout'),"
                        + " (SELECT count(*) FROM pg_listening_channels()))";
            case "mariadb", "mysql" ->
                "SELECT concat_ws(' ', @@SESSION.innodb_lock_wait_timeout, @@SESSION.wait_timeout)";
            default -> "SELECT 1";
        };
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1) + " " + connection.getTransactionIsolation() + " " + connection.isReadOnly();
        }
    }

    private static List<Supplier<SQLException>> refusals(String product) {
        return switch (product) {
            case "postgresql" ->
                List.of(
                        () -> new SQLException("of the test: serialization", "40001"),
                        () -> new SQLException("of the test: a deadlock", "40P01"),
                        () -> new SQLException("of the test: a locked row", "55P03"),
                        () -> new SQLException("of the test: canceled", "57014"),
                        () -> new SQLException("of the test: read only", "25006"));
            case "h2" ->
                List.of(
                        () -> new SQLException("of the test: a deadlock", "40001", 40001),
                        () -> new SQLException("of the test: a locked row", "HYT00", 50200),
                        () -> new SQLException("of the test: a concurrent update", "90131", 90131));
            case "sqlite" -> List.of(() -> new SQLException("of the test: busy", null, 5));
            default ->
                List.of(
                        () -> new SQLException("of the test: a deadlock", "40001", 1213),
                        () -> new SQLException("of the test: a locked row", "HY000", 1205),
                        () -> new SQLException("of the test: read only", "HY000", 1290));
        };
    }

    /** One who acquires and releases, and repeats what has failed. */
    private final class Client {

        private final LockStore store;
        private final Claimant claimant;
        private final Random random;

        Client(LockStore store, String label, Random random) {
            this.store = store;
            this.claimant = new Claimant(label, LONG);
            this.random = random;
        }

        void run() {
            for (int i = 0; i < OPERATIONS; i++) {
                switch (random.nextInt(8)) {
                    case 0 -> look();
                    case 1, 2 -> several();
                    case 3 -> one(claim());
                    default -> await(claim());
                }
            }
        }

        private LockName mutex() {
            return MUTEXES.get(random.nextInt(MUTEXES.size()));
        }

        private Claim claim() {
            return !isAdopted && random.nextInt(4) == 0
                    ? claimant.claim(SEMAPHORE, 1 + random.nextInt(PERMITS), PERMITS)
                    : claimant.mutex(mutex());
        }

        private void look() {
            Supplier<CompletionStage<?>> call =
                    random.nextBoolean() ? () -> store.inspect(mutex()) : () -> store.list("", 10);
            try {
                answer(call::get);
            } catch (StoreException failure) {
                return;
            }
        }

        private void one(Claim claim) {
            long asked = System.nanoTime();
            try {
                if (answer(() -> store.tryAcquire(claim)) instanceof Granted granted) {
                    hold(List.of(claim), List.of(granted), asked);
                }
            } catch (StoreException failure) {
                failed(claim, failure);
                Claim again = claim.again();
                if (random.nextBoolean() && repeated(() -> store.tryAcquire(again)) instanceof Granted granted) {
                    hold(List.of(again), List.of(granted), asked);
                }
            }
            release(claim);
        }

        private void several() {
            if (isAdopted) {
                one(claim());
                return;
            }
            List<LockName> names = new ArrayList<>(MUTEXES);
            Collections.shuffle(names, random);
            List<Claim> claims = names.stream()
                    .limit(2 + random.nextInt(2))
                    .map(claimant::mutex)
                    .toList();
            long asked = System.nanoTime();
            try {
                List<Attempt> attempts = answer(() -> store.tryAcquireAll(claims));
                if (attempts.stream().allMatch(Granted.class::isInstance)) {
                    hold(claims, attempts.stream().map(Granted.class::cast).toList(), asked);
                }
            } catch (StoreException failure) {
                claims.forEach(claim -> failed(claim, failure));
            }
            claims.forEach(this::release);
        }

        private void await(Claim claim) {
            if (isAdopted) {
                one(claim);
                return;
            }
            RecordingListener listener = new RecordingListener();
            long asked = System.nanoTime();
            try {
                store.enqueue(claim, listener);
                boolean givesUp = random.nextInt(6) == 0;
                for (int n = 1; listener.outcome().isEmpty() && !(givesUp && n == 5); n++) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
                    if (n % 20 == 0) {
                        renew(claim);
                    }
                }
                listener.first(RecordingListener.Event.Failed.class).ifPresent(event -> failed(claim, event.cause()));
                if (listener.outcome().orElse(null) instanceof RecordingListener.Event.Granted granted) {
                    hold(List.of(claim), List.of(new Granted(granted.counter(), granted.lease())), asked);
                }
            } catch (IllegalStateException | InternalError ofTheDriver) {
                assertThat(ofTheDriver).hasMessageStartingWith("of the test");
            }
            release(claim);
        }

        private void hold(List<Claim> claims, List<Granted> granted, long asked) {
            List<HistoryChecker.OpenHold> held = new ArrayList<>();
            for (int i = 0; i < claims.size(); i++) {
                Claim claim = claims.get(i);
                held.add(histories
                        .computeIfAbsent(claim.name(), name -> new HistoryChecker(claim.limit()))
                        .acquired(
                                claimant.client(),
                                claim.permits(),
                                granted.get(i).counter(),
                                asked,
                                HistoryChecker.NEVER_QUEUED));
            }
            if (random.nextInt(3) == 0) {
                claims.forEach(claim -> {
                    if (renew(claim) instanceof Renewed.Gone gone) {
                        wrongs.add(claim + " is gone: " + gone);
                    }
                });
            }
            held.forEach(HistoryChecker.OpenHold::ending);
        }

        private Renewed renew(Claim claim) {
            try {
                return answer(() -> store.renew(List.of(claim))).get(0);
            } catch (StoreException failure) {
                return new Renewed.Failed(failure);
            }
        }

        private void release(Claim claim) {
            try {
                answer(() -> store.release(claim));
            } catch (StoreException failure) {
                repeated(() -> store.release(claim.again()));
            }
        }

        // What had no effect must not hold.
        private void failed(Claim claim, StoreException failure) {
            if (failure.effect() == Effect.NONE
                    && holders(truth, claim.name()).stream()
                            .anyMatch(one -> one.id().equals(claim.id()))) {
                wrongs.add("it holds after " + failure);
            }
        }
    }

    private static <T> T repeated(Supplier<CompletionStage<T>> call) {
        while (true) {
            try {
                return answer(call);
            } catch (StoreException failure) {
                LockSupport.parkNanos(1);
            }
        }
    }

    private static <T> T answer(Supplier<CompletionStage<T>> call) {
        try {
            return call.get().toCompletableFuture().join();
        } catch (CompletionException | IllegalStateException | InternalError failure) {
            throw StoreException.of(failure);
        }
    }
}
