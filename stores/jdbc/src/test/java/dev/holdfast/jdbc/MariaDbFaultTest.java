package dev.holdfast.jdbc;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.FaultProxy.Fate;
import dev.holdfast.testkit.process.FaultProxy.Way;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The errors and the behaviour of a store when MariaDB fails, with both drivers; {@link ServerFaultTest} is for
 * PostgreSQL.
 */
class MariaDbFaultTest extends Servers {

    @AutoClose
    private static MariaDbServer server = MariaDbServer.start();

    private final LockName name = new LockName("fault");

    private String newUrl(String product) {
        String database = server.newDatabase();
        return loaded(product.equals("mysql") ? server.mysqlUrl(database) : server.mariaUrl(database));
    }

    @ParameterizedTest
    @ValueSource(strings = {"mariadb", "mysql"})
    void crashesLoseNeitherGrantsNorReleasesNorQueuePositions(String product) {
        LockStore store = open(newUrl(product) + "&holdfast.ticketTtl=10m&holdfast.busyTimeout=1s");
        Claim holder = alice.mutex(name);
        long counter = repaired(() -> granted(store, holder.again())).counter();
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waitingAfterRepair(store, waiter);
        server.kill();
        // At first existing connections break, and the effect of their statements is unknown. Later no connection
        // can be opened, and nothing is sent.
        awaitUntil(() -> {
            StoreException away = failure(store.tryAcquire(alice.mutex(new LockName("other"))));
            assertThat(away.retryable()).isTrue();
            return away.effect() == Effect.NONE;
        });
        server.startAgain();
        assertThat(((Granted) repaired(() -> renewed(store, holder))).counter()).isEqualTo(counter);
        assertThat(repaired(() -> renewed(store, waiter))).isInstanceOf(Renewed.Waiting.class);
        repaired(() -> get(store.release(holder.again())));
        awaitGrant(listener);
        server.kill();
        server.startAgain();
        assertThat(repaired(() -> renewed(store, waiter)))
                .as("what was handed over")
                .isInstanceOfSatisfying(
                        Granted.class, held -> assertThat(held.counter()).isGreaterThan(counter));
        assertThat(repaired(() -> get(store.tryAcquire(alice.mutex(name))))).isInstanceOf(Attempt.Busy.class);
        repaired(() -> get(store.release(waiter.again())));
        server.kill();
        server.startAgain();
        Claim next = alice.mutex(name);
        assertThat(repaired(() -> get(store.tryAcquire(next)))).isInstanceOf(Granted.class);
        repaired(() -> get(store.release(next.again())));
        assertThat(repaired(() -> get(store.list("", 10)))).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"mariadb", "mysql"})
    void missingRightsAreNamed(String product) {
        String url = newUrl(product);
        String database = url.replaceAll(".*/([a-z0-9]+)\\?.*", "$1");
        String poor = "poor_" + database;
        String poorUrl = url.replace("user=root", "user=" + poor);
        server.run(
                "",
                "CREATE USER " + poor + "@'127.0.0.1'",
                "GRANT SELECT ON " + database + ".* TO " + poor + "@'127.0.0.1'");
        assertThatThrownBy(() -> open(poorUrl))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("cannot be made")
                .hasMessageContaining("holdfast schema");
        open(url);
        LockStore store = open(poorUrl);
        StoreException failure = failure(store.tryAcquire(alice.mutex(name)));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isFalse();
        assertThat(failure).hasMessageContaining("denied").hasMessageContaining("holdfast_lock");
    }

    @ParameterizedTest
    @ValueSource(strings = {"mariadb", "mysql"})
    void aServerThatMayNotWriteIsNamed(String product) {
        String url = newUrl(product);
        String database = url.replaceAll(".*/([a-z0-9]+)\\?.*", "$1");
        String user = "plain_" + database;
        server.run(
                "",
                "CREATE USER " + user + "@'127.0.0.1'",
                "GRANT ALL ON " + database + ".* TO " + user + "@'127.0.0.1'");
        LockStore store = open(url.replace("user=root", "user=" + user));
        Claim claim = alice.mutex(name);
        granted(store, claim);
        List<Long> before = connections(user);
        assertThat(before).isNotEmpty();
        server.run("", "SET GLOBAL read_only = 1");
        try {
            for (StoreException failure : new StoreException[] {
                failure(store.tryAcquire(bob.mutex(new LockName("b")))), failure(store.release(claim))
            }) {
                assertThat(failure.effect()).isEqualTo(Effect.NONE);
                assertThat(failure.retryable()).as("it may be promoted").isTrue();
                assertThat(failure).hasMessageContaining("name the primary in the URL");
            }
            // It was the primary, perhaps: what the URL leads to now is asked the next time.
            awaitUntil(() -> connections(user).stream().noneMatch(before::contains), "connections are kept");
        } finally {
            server.run("", "SET GLOBAL read_only = 0");
        }
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
    }

    /** In some modes the driver itself replaces a connection that breaks in the midst of a call. */
    @Test
    void lostReplyHasAnUnknownEffectAlsoIfTheDriverHasConnectedAgain() {
        String direct = newUrl("mariadb");
        LockStore other = open(direct);
        FaultProxy proxy = closing(FaultProxy.before(direct));
        // Statements are sent as text, so that the one which takes the lock can be told from others.
        LockStore store = open(direct.replace("mariadb://", "mariadb:sequential://" + proxy.address() + ",")
                + "&holdfast.serverPrepare=off");
        Claim claim = alice.mutex(name);
        AtomicBoolean lost = new AtomicBoolean();
        proxy.judge((way, isFirst, message) -> way == Way.TO_SERVER
                        && new String(message, ISO_8859_1).contains(claim.id().toString())
                        && lost.compareAndSet(false, true)
                ? Fate.loseReply(message)
                : Fate.pass(message));
        StoreException failure = failure(store.tryAcquire(claim));
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(failure).hasMessageContaining("Driver has reconnect");
        busy(other, bob.mutex(name));
        assertThat(get(store.tryAcquire(claim.again()))).isInstanceOf(Granted.class);
    }

    private static List<Long> connections(String user) {
        try (Connection connection = server.connect("");
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(
                        "SELECT id FROM information_schema.processlist WHERE user = '" + user + "'")) {
            List<Long> ids = new ArrayList<>();
            while (rows.next()) {
                ids.add(rows.getLong(1));
            }
            return ids;
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }
}
