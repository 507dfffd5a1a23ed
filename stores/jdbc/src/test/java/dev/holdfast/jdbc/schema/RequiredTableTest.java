package dev.holdfast.jdbc.schema;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.JdbcLockStore;
import dev.holdfast.jdbc.JdbcLockStoreProvider;
import dev.holdfast.jdbc.MariaDbServer;
import dev.holdfast.jdbc.PostgresServer;
import dev.holdfast.jdbc.Servers;
import dev.holdfast.jdbc.SqliteLockStoreProvider;
import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.process.FaultProxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tables that were created by hand: those that work are accepted, the others are refused with what differs. */
class RequiredTableTest extends Servers {

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '~', textBlock = """
            postgresql | name text COLLATE "C"        | name char(255)                 | column name is bpchar(255), expected text that is not filled up
            postgresql | name text COLLATE "C"        | name varchar(60)               | column name is varchar(60), expected text
            postgresql | name text COLLATE "C"        | name text COLLATE "und-x-icu"  | column name compares by a collation, expected one that compares and sorts byte by byte
            postgresql | counter bigint               | counter integer                | column counter is int4, expected a whole number with a sign, of 64 bits
            postgresql | counter bigint               | counter numeric(20, 2)         | column counter is numeric(20), expected a whole number
            postgresql | expires bigint               | expires timestamptz            | column expires is timestamptz
            postgresql | others text                  | others varchar(4000)           | column others is varchar(4000), expected text that is not filled up with blanks, of 1048576
            postgresql | permits integer              | permits smallint               | column permits is int2
            mariadb    | name VARBINARY(255)          | name VARCHAR(255)              | column name is VARCHAR(255), expected bytes that no collation compares
            mariadb    | name VARBINARY(255)          | name BINARY(255)               | column name is BINARY(255), expected bytes that no collation compares, not filled up
            mariadb    | name VARBINARY(255)          | name VARBINARY(60)             | column name is VARBINARY(60)
            mariadb    | counter BIGINT               | counter BIGINT UNSIGNED        | column counter is BIGINT UNSIGNED, expected a whole number with a sign
            mariadb    | capacity INTEGER             | capacity MEDIUMINT             | column capacity is MEDIUMINT
            mariadb    | others MEDIUMTEXT            | others TEXT                    | column others is TEXT(65535)
            mysql      | name VARBINARY(255)          | name VARCHAR(255)              | column name is VARCHAR(255)
            mysql      | counter BIGINT               | counter INTEGER                | column counter is INT
            mysql      | others MEDIUMTEXT            | others TEXT                    | column others is TEXT(65535)
            h2         | name VARBINARY(255)          | name VARCHAR_IGNORECASE(255)   | column name is VARCHAR_IGNORECASE(255), expected bytes
            h2         | counter BIGINT               | counter INTEGER                | column counter is INTEGER
            h2         | owner VARCHAR                | owner VARCHAR(100)             | column owner is CHARACTER VARYING(100)
            sqlite     | name TEXT                    | name TEXT COLLATE NOCASE       | column name compares by a collation
            sqlite     | name TEXT                    | name NUMERIC                   | column name is NUMERIC, expected text
            sqlite     | counter INTEGER              | counter REAL                   | column counter is REAL
            sqlite     | expires INTEGER              | expires TEXT                   | column expires is TEXT
            """)
    void otherTypesAreReported(String product, String ours, String theirs, String reported) {
        String url = made(product, ours, theirs);
        assertThatThrownBy(() -> openAny(url)).isInstanceOfSatisfying(StoreException.class, failure -> {
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isFalse();
            assertThat(failure).hasMessageContaining(reported).hasMessageContaining("holdfast schema --store");
            assertThat(failure.getMessage().split("; "))
                    .as("nothing else is wrong: %s", failure)
                    .hasSize(1);
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2", "sqlite"})
    void keysNullsAndStrangeColumnsAreReportedTogether(String product) {
        String url = made(
                product,
                "NOT NULL PRIMARY KEY, version",
                "NOT NULL, colour integer NOT NULL, version",
                "more (\\w+) NOT NULL",
                "more $1 NULL",
                "since \\w+ NOT NULL, ",
                "",
                "(?m)^\\)",
                ", PRIMARY KEY (name, clock) )");
        assertThatThrownBy(() -> openAny(url))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("expected [name]")
                .hasMessageContaining("the primary key is [name, clock], ")
                .hasMessageContaining("column since is missing, expected a whole number with a sign, of 64 bits")
                .hasMessageContaining("column more admits NULL, expected NOT NULL")
                .hasMessageContaining("column colour is not of Holdfast and NOT NULL without a default");
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2", "sqlite"})
    void aTableWithoutAKeyIsReported(String product) {
        String url = made(product, "NOT NULL PRIMARY KEY, version", "NOT NULL, version");
        assertThatThrownBy(() -> openAny(url))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("the primary key is missing, expected [name]");
    }

    /** Wider types, further columns that need no value, and other names of the same types do no harm. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '~', textBlock = """
            postgresql | name text COLLATE "C" NOT NULL | note text, made timestamptz NOT NULL DEFAULT now(), name varchar(300) COLLATE "POSIX" NOT NULL
            postgresql | permits integer                | permits bigint
            postgresql | holder text                    | holder varchar(100)
            postgresql | counter bigint                 | counter numeric(30)
            postgresql | since bigint                   | id serial, since bigint
            mariadb    | name VARBINARY(255) NOT NULL   | note TEXT, made TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, name VARBINARY(700) NOT NULL
            mariadb    | owner MEDIUMTEXT               | owner LONGTEXT
            mariadb    | permits INTEGER                | permits BIGINT
            mariadb    | counter BIGINT                 | counter DECIMAL(30)
            mysql      | owner MEDIUMTEXT               | owner LONGTEXT
            mysql      | holder VARCHAR(100)            | holder VARCHAR(200)
            h2         | name VARBINARY(255) NOT NULL   | note VARCHAR, made TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL, name VARBINARY NOT NULL
            h2         | owner VARCHAR                  | owner CHARACTER LARGE OBJECT
            sqlite     | name TEXT NOT NULL             | note TEXT, made INTEGER NOT NULL DEFAULT 1, name VARCHAR(10) NOT NULL
            sqlite     | since INTEGER                  | since BIGINT
            sqlite     | others TEXT                    | others BLOB
            """)
    void whatDoesNoHarmIsTaken(String product, String ours, String theirs) {
        works(openAny(made(product, ours, theirs)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "h2"})
    void noCheckIsNoCheck(String product) {
        String url = made(product, "others (text|MEDIUMTEXT|CHARACTER LARGE OBJECT)", "others VARCHAR(4000)");
        assertThatThrownBy(() -> open(url)).isInstanceOf(StoreException.class).hasMessageContaining("others");
        works(open(url + "&holdfast.schema=none"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2", "sqlite"})
    void aSchemaTableOfAnotherFormatIsReported(String product) {
        String url = url(product, folder);
        runIn(url, "CREATE TABLE holdfast_schema (colour VARCHAR(10))");
        assertThatThrownBy(() -> openAny(url))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("table holdfast_schema: ");
        runIn(
                url,
                "DROP TABLE holdfast_schema",
                "CREATE TABLE holdfast_schema (version INTEGER, clock VARCHAR(64), origin BIGINT)");
        if (!product.equals("sqlite")) {
            assertThatThrownBy(() -> open(url + "&holdfast.schema=check"))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("holdfast_schema has no row, expected one with version 1");
        }
        works(openAny(url));
    }

    /** A table that is not ours is reported before any table is created beside it. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "h2", "sqlite"})
    void nothingIsMadeBesideATableOfSomebodyElse(String product) {
        String url = url(product, folder);
        runIn(url, "CREATE TABLE holdfast_lock (name VARCHAR(10) PRIMARY KEY, colour VARCHAR(10))");
        assertThatThrownBy(() -> openAny(url))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("column counter is missing");
        assertThatThrownBy(() -> runIn(url, "SELECT 1 FROM holdfast_schema")).isInstanceOf(AssertionError.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2", "generic"})
    void tablesAreMadeOnceByManyClients(String product) throws Exception {
        String url = product.equals("generic")
                ? Servers.url("h2")
                        + "holdfast.clock=CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT)"
                : url(product, folder);
        int clients = 8;
        ExecutorService threads = Executors.newFixedThreadPool(clients);
        try {
            CyclicBarrier together = new CyclicBarrier(clients);
            List<Future<LockStore>> stores = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                stores.add(threads.submit(() -> {
                    together.await(20, TimeUnit.SECONDS);
                    // A slow machine is no failure here.
                    return new JdbcLockStoreProvider().open(url + "&holdfast.busyTimeout=20s", MonotonicClock.SYSTEM);
                }));
            }
            for (Future<LockStore> store : stores) {
                closing(store.get(60, TimeUnit.SECONDS));
            }
            granted(stores.get(0).get(), alice.mutex(new LockName("a")));
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void theTableThatTheSearchPathFindsIsChecked() {
        PostgresServer server = PostgresServer.shared();
        String first = schemaOf(server.newSchema()) + "_a";
        String second = first.replace("_a", "_b");
        // As a pattern, the name of the second one also matches that of this one.
        String alike = first.replace("_a", "xb");
        String empty = first + "_empty";
        for (String schema : List.of(first, second, alike, empty)) {
            server.run("public", "CREATE SCHEMA " + schema);
        }
        String wrong = "CREATE TABLE holdfast_lock (name text PRIMARY KEY, colour text NOT NULL)";
        server.run(first, wrong);
        server.run(alike, wrong);
        server.run(second, JdbcLockStore.ddl(server.url(second)).split(";\\s*\\n"));
        server.run(first, "CREATE TABLE holdfast_schema AS SELECT 1 AS version, '-' AS clock, 0 AS origin");
        works(open(server.url(second)));
        works(open(server.url(empty + "," + second + "," + first)));
        assertThatThrownBy(() -> open(server.url(empty + "," + first + "," + second)))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("table " + first + ".holdfast_lock: ")
                .hasMessageContaining("column colour");
    }

    @ParameterizedTest
    @ValueSource(strings = {"mariadb", "mysql"})
    void tablesOfOtherDatabasesAreNotMeant(String product) {
        MariaDbServer server = MariaDbServer.shared();
        String right = "t_" + server.newDatabase() + "_b";
        String wrong = right.replaceAll("_b$", "xb");
        for (String database : List.of(right, wrong)) {
            server.run("", "CREATE DATABASE " + database);
        }
        String ofRight = product.equals("mysql") ? server.mysqlUrl(right) : server.mariaUrl(right);
        String ofWrong = product.equals("mysql") ? server.mysqlUrl(wrong) : server.mariaUrl(wrong);
        run(ofRight, JdbcLockStore.ddl(ofRight).split(";\\s*\\n"));
        run(ofWrong, JdbcLockStore.ddl(ofWrong).split(";\\s*\\n"));
        run(ofWrong, "ALTER TABLE holdfast_lock ADD COLUMN colour VARCHAR(10) NOT NULL");
        works(open(ofRight));
        assertThatThrownBy(() -> open(ofWrong))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("table " + wrong + ".holdfast_lock: column colour");
    }

    @Test
    void tablesOfOtherSchemasOfH2AreNotMeant() {
        String url = "jdbc:h2:mem:schemas" + System.nanoTime() + ";DB_CLOSE_DELAY=-1";
        run(
                url,
                "CREATE SCHEMA A_B",
                "CREATE SCHEMA AXB",
                "SET SCHEMA AXB",
                "CREATE TABLE holdfast_lock (name VARCHAR(10) PRIMARY KEY)");
        works(open(url + ";SCHEMA=A_B"));
        assertThatThrownBy(() -> open(url + ";SCHEMA=AXB"))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("table AXB.HOLDFAST_LOCK: ");
    }

    /** The check of the table needs no more rights than to read and write its rows. */
    @Test
    void theCheckNeedsNoFurtherRights() {
        MariaDbServer server = MariaDbServer.shared();
        String database = server.newDatabase();
        open(server.mariaUrl(database)).close();
        server.run(
                database,
                "CREATE USER 'of_" + database + "'@'127.0.0.1'",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON " + database + ".holdfast_lock TO 'of_" + database
                        + "'@'127.0.0.1'",
                "GRANT SELECT ON " + database + ".holdfast_schema TO 'of_" + database + "'@'127.0.0.1'");
        works(open(server.mariaUrl(database).replace("user=root", "user=of_" + database)));
        works(open(server.mysqlUrl(database).replace("user=root", "user=of_" + database)));
    }

    /**
     * How often a client asks from its first byte to an open store, beyond what it takes to open a connection. One question of
     * PostgreSQL's is about the table that only nodes of a quorum need.
     */
    @ParameterizedTest
    @CsvSource({"postgresql,7", "mariadb,4", "mysql,5"})
    void openingAStoreIsAFewTrips(String product, int most) throws Exception {
        // Without the check that notifications arrive, whose transactions are sometimes sent in two parts.
        String url = Servers.url(product) + (product.equals("postgresql") ? "&holdfast.wakeup=poll" : "");
        open(url).close();
        int unchecked = tripsToOpen(url + "&holdfast.schema=none");
        assertThat(tripsToOpen(url) - unchecked).as("of the check").isBetween(1, most);
    }

    // The least of some tries: a pool that is asked for a connection after a pause makes a trip to check it.
    private int tripsToOpen(String url) throws Exception {
        int least = Integer.MAX_VALUE;
        for (int tries = 0; tries < 3; tries++) {
            FaultProxy proxy = closing(FaultProxy.before(url));
            open(proxy.in(url));
            least = Math.min(least, proxy.tripsOfBusiestConnection());
        }
        return least;
    }

    private void works(LockStore store) {
        Claim claim = alice.mutex(new LockName("work"));
        long counter = granted(store, claim).counter();
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        assertThat(waiting(store, bob.mutex(claim.name())).events()).isNotEmpty();
        assertThat(get(store.list("wor", 10))).containsExactly(claim.name());
        assertThat(get(store.release(claim)).wasOwner()).isTrue();
        get(store.inspect(claim.name()))
                .ifPresent(state -> state.holders().forEach(holder -> get(store.release(holder.claim()))));
        Claim next = alice.mutex(claim.name());
        assertThat(granted(store, next).counter()).isGreaterThan(counter);
        get(store.release(next));
    }

    private static String url(String product, Path folder) {
        return product.equals("sqlite") ? "sqlite:" + folder.resolve("locks.db") : Servers.url(product);
    }

    // The tables as the store creates them, except for some words (regular expressions, each followed by its
    // replacement).
    private String made(String product, String... changes) {
        String url = url(product, folder);
        List<String> statements = product.equals("sqlite")
                ? new SqliteDialect(MonotonicClock.SYSTEM, "boot", "").createTables()
                : List.of(JdbcLockStore.ddl(url).split(";\\s*\\n"));
        String lock = statements.get(0);
        for (int i = 0; i < changes.length; i += 2) {
            String changed = lock.replaceFirst(regex(changes[i]), changes[i + 1]);
            assertThat(changed).as(changes[i]).isNotEqualTo(lock);
            lock = changed;
        }
        runIn(url, lock, statements.get(1), statements.get(2));
        return url;
    }

    // The brackets of types are escaped, because they are meant literally; those of groups are not.
    private static String regex(String ours) {
        return ours.replaceAll("\\((\\d+)\\)", "\\\\($1\\\\)");
    }

    private LockStore openAny(String url) {
        return url.startsWith("sqlite:")
                ? closing(new SqliteLockStoreProvider().open(url, MonotonicClock.SYSTEM))
                : open(url);
    }

    private static void runIn(String url, String... statements) {
        run(url.startsWith("sqlite:") ? "jdbc:" + url : url, statements);
    }

    private static String schemaOf(String url) {
        return url.replaceAll(".*currentSchema=", "");
    }
}
