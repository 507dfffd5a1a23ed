package dev.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.jdbc.JdbcLockStoreProvider;
import dev.holdfast.jdbc.PostgresServer;
import dev.holdfast.redis.RedisLockStoreProvider;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two Redis servers, one PostgreSQL and two stores in memory as one store. */
class MixedNodesTest extends StoreTest {

    private static final Duration LEASE = Duration.ofMinutes(10);
    private static final QuorumOptions NEW = new QuorumOptions(LEASE, Duration.ofSeconds(5), true);
    private static final int CLIENTS = 3;
    private static final int HOLDS = 15;

    /** One for all tests, because it takes long to make one; each has tables of its own. */
    @AutoClose
    private static PostgresServer postgres = PostgresServer.start();

    private final RedisServer one = closing(RedisServer.start());
    private final RedisServer other = closing(RedisServer.start());
    private String database;
    private final MemoryNodes memory = new MemoryNodes(2, MonotonicClock.SYSTEM);
    private final Claimant carol = new Claimant("carol", LEASE);
    private final Claimant dave = new Claimant("dave", LEASE);

    @BeforeEach
    void startDatabase() {
        if (!postgres.isRunning()) {
            postgres.startAgain();
        }
        database = postgres.newSchema() + "&holdfast.busyTimeout=2s";
    }

    private LockStore redis(RedisServer server) {
        return new RedisLockStoreProvider().open(server.url(), MonotonicClock.SYSTEM);
    }

    private LockStore database() {
        return new JdbcLockStoreProvider().open(database, MonotonicClock.SYSTEM);
    }

    private QuorumLockStore open(QuorumOptions options) {
        return closing(QuorumLockStore.over(
                List.of(
                        redis(one),
                        redis(other),
                        database(),
                        memory.node(0).handle(),
                        memory.node(1).handle()),
                options));
    }

    /** The last node may answer a little after the majority. */
    @Test
    void allNodesKeepTheClaimAndItIsRenewedAndReleasedEverywhere() {
        QuorumLockStore store = open(NEW);
        List<LockStore> nodes = List.of(
                closing(redis(one)),
                closing(redis(other)),
                closing(database()),
                memory.node(0).store());
        Claim claim = carol.write(name);
        long token = granted(store, claim).counter();
        busy(open(NEW), dave.read(name));
        awaitUntil(() -> nodes.stream().allMatch(node -> holders(node, name).size() == 1));
        assertThat(granted(store, claim.withPermits(1)).counter()).isEqualTo(token);
        Claim reader = dave.read(name);
        assertThat(granted(store, reader).counter()).isGreaterThan(token);
        assertThat(renewed(store, claim.withPermits(1))).isInstanceOf(Granted.class);
        assertThat(released(store, claim)).isTrue();
        busy(store, carol.write(name));
        assertThat(released(store, reader)).isTrue();
        awaitUntil(() -> nodes.stream().allMatch(node -> holders(node, name).isEmpty()));
    }

    /** One server after the other is killed while several clients take turns. */
    @Test
    void oneHolderAtATimeAndTokensGrowWhileNodesAreKilled() throws Exception {
        AtomicReference<Lease> inside = new AtomicReference<>();
        AtomicInteger holds = new AtomicInteger();
        AtomicBoolean over = new AtomicBoolean();
        List<Long> tokens = new ArrayList<>();
        ExecutorService threads = closing(new Threads()).threads;
        List<Future<?>> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            Holdfast locks = closing(Holdfast.over(open(NEW)));
            clients.add(threads.submit(() -> {
                while (!over.get()) {
                    try (Lease lease = locks.lock(name.value()).acquire(Duration.ofSeconds(60))) {
                        assertThat(inside.getAndSet(lease)).isNull();
                        tokens.add(lease.token()); // the lock itself orders these
                        holds.incrementAndGet();
                        assertThat(inside.getAndSet(null)).isSameAs(lease);
                    }
                }
                return null;
            }));
        }
        awaitMore(holds);
        postgres.kill();
        awaitMore(holds);
        one.kill();
        awaitMore(holds);
        over.set(true);
        for (Future<?> client : clients) {
            client.get(60, TimeUnit.SECONDS);
        }
        assertThat(tokens).hasSize(holds.get()).isSorted().doesNotHaveDuplicates();
    }

    private static void awaitMore(AtomicInteger holds) {
        int before = holds.get();
        awaitUntil(() -> holds.get() >= before + HOLDS);
    }

    /** The executor of a test. */
    private static final class Threads implements AutoCloseable {

        private final ExecutorService threads = Executors.newFixedThreadPool(CLIENTS);

        @Override
        public void close() {
            threads.shutdownNow();
        }
    }

    /** It kept all its data, but nobody can tell. */
    @Test
    void databaseThatStartedAgainDoesNotHelpToGrant() {
        QuorumLockStore store = open(NEW);
        one.kill();
        memory.node(0).isDown(true);
        Claim claim = carol.mutex(name);
        granted(store, claim);
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        assertThat(released(store, claim)).isTrue();
        postgres.kill();
        postgres.startAgain();
        // A release does not wait for the disk, so the database may have the claim again for the rest of its lease.
        LockName fresh = new LockName(name.value() + "-fresh");
        awaitUntil(() -> tried(store, fresh).contains("may have lost data"));
        memory.node(0).isDown(false);
        awaitUntil(() -> tried(store, fresh).equals("granted"));
    }

    /** What comes of a try. */
    private String tried(LockStore store, LockName lock) {
        try {
            return get(store.tryAcquire(dave.mutex(lock))) instanceof Granted ? "granted" : "busy";
        } catch (StoreException failure) {
            return String.valueOf(failure.getMessage());
        }
    }

    @Test
    void databaseInAUrlThatIsDownAtTheStartIsANodeWhenItIsUp() {
        LockStore there = closing(database());
        postgres.kill();
        String url = "quorum:" + one.url() + "," + database + "," + other.url() + "#newNodes=true&nodeTimeout=5s";
        LockStore store = closing(new QuorumLockStoreProvider().open(url, MonotonicClock.SYSTEM));
        Claim claim = new Claimant("carol", Duration.ofMinutes(1)).mutex(name);
        granted(store, claim);
        postgres.startAgain();
        awaitUntil(() -> {
            // The renewal gives the claim to a node that has come back.
            get(store.renew(List.of(claim)));
            return isAt(there);
        });
        assertThat(released(store, claim)).isTrue();
        awaitUntil(() -> !isAt(there));
    }

    private boolean isAt(LockStore node) {
        try {
            return !holders(node, name).isEmpty();
        } catch (StoreException stillConnecting) {
            return false;
        }
    }

    /** The other nodes are a majority, but the quorum would live without the failure that it was made to bear. */
    @Test
    void databaseThatRefusesVotesIsNamedWhenTheQuorumIsOpened() {
        closing(database());
        postgres.run(database.replaceAll(".*currentSchema=([^&]*).*", "$1"), "ALTER TABLE holdfast_node SET LOGGED");
        String url = "quorum:" + one.url() + "," + database + "," + other.url() + "#newNodes=true&nodeTimeout=5s";
        assertThatThrownBy(() -> new QuorumLockStoreProvider().open(url, MonotonicClock.SYSTEM))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("refuses")
                .hasMessageContaining("postgresql")
                .hasMessageContaining("UNLOGGED");
    }

    /** They fail together. Before, they were counted as two. */
    @Test
    void twoSchemasOfOneDatabaseServerAreNoTwoNodes() {
        String url =
                "quorum:" + one.url() + "," + database + "," + postgres.newSchema() + "#newNodes=true&nodeTimeout=5s";
        assertThatThrownBy(() -> new QuorumLockStoreProvider().open(url, MonotonicClock.SYSTEM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("postgresql")
                .hasMessageContaining("in the same server");
    }

    /** In a split brain each of two servers could vote for the one node. */
    @Test
    void severalServersOfPostgresAreNoNode() {
        LockStore pair = closing(new JdbcLockStoreProvider()
                .open(database.replaceFirst("//([^/]*)/", "//$1,$1/"), MonotonicClock.SYSTEM));
        List<LockStore> stores = List.of(memory.node(0).handle(), memory.node(1).handle(), pair);
        assertThatThrownBy(() -> QuorumLockStore.over(stores, NEW))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(pair + ", because its URL names several servers");
    }
}
