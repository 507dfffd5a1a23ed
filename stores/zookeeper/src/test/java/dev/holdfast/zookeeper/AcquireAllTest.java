package dev.holdfast.zookeeper;

import static dev.holdfast.zookeeper.Proxy.only;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Released;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.zookeeper.node.NodeName;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.junit.jupiter.api.Test;

/**
 * Several names in one attempt: its cost, and that a failed attempt leaves no nodes and blocks no other client.
 */
class AcquireAllTest extends WithServer {

    /** Far longer than an observer beside the proxy needs to look. */
    private static final Duration ON_ITS_WAY = Duration.ofMillis(100);

    private final CuratorFramework observer = curator();
    private final Proxy proxy = proxy();
    private final LockStore store = open(proxy.hosts());
    private final LockStore other = open();
    private final LockName x = new LockName(name + "-x");
    private final LockName y = new LockName(name + "-y");
    private final LockName z = new LockName(name + "-z");

    @Test
    void freeNamesAreOneRoundTrip() {
        granted(store, bob.mutex(name)); // creates the root
        assertAllGranted(proxy.inOneRoundTrip(
                () -> store.tryAcquireAll(mutexes()), only("createContainer", 3, "multi", 1, "getChildren", 3)));
        releaseAll();
        assertAllGranted(
                proxy.inOneRoundTrip(() -> store.tryAcquireAll(mutexes()), only("multi", 1, "getChildren", 3)));
    }

    @Test
    void busyIsReportedWhenOneRequestHasDeletedAll() {
        granted(mutexes());
        releaseAll();
        granted(other, bob.mutex(y));
        proxy.reset();
        proxy.delay(ON_ITS_WAY);
        List<Attempt> attempts = get(store.tryAcquireAll(mutexes()));
        assertThat(attempts).noneMatch(Granted.class::isInstance);
        assertThat(nodes(observer, x)).isEmpty();
        assertThat(nodes(observer, z)).isEmpty();
        assertThat(nodes(observer, y)).hasSize(1);
        assertThat(proxy.counts()).isEqualTo(only("multi", 2, "getChildren", 3));
    }

    @Test
    void missingParentNodesAreCreatedAndAllIsSentAgain() throws Exception {
        granted(mutexes());
        releaseAll();
        observer.delete().forPath("/holdfast/" + y);
        assertAllGranted(proxy.inTwoRoundTrips(
                () -> store.tryAcquireAll(mutexes()),
                only("multi", 1, "getChildren", 3),
                "createContainer",
                only("multi", 2, "getChildren", 6, "createContainer", 3)));
    }

    @Test
    void missingRootIsCreated() throws Exception {
        LockStore elsewhere = openUrl("zookeeper://" + server().hosts() + "/above-" + name + "/root");
        assertThat(get(elsewhere.tryAcquireAll(mutexes()))).allMatch(Granted.class::isInstance);
        assertThat(observer.getChildren().forPath("/above-" + name + "/root")).hasSize(3);
    }

    @Test
    void tokensAreTheZxidsOfTheCreationAndGrow() throws Exception {
        List<Attempt> first = granted(mutexes());
        for (int i = 0; i < 3; i++) {
            LockName one = List.of(x, y, z).get(i);
            String path = "/holdfast/" + one + "/" + nodes(observer, one).get(0);
            assertThat(counter(first.get(i)))
                    .isEqualTo(observer.checkExists().forPath(path).getCzxid());
        }
        releaseAll();
        assertThat(counter(granted(mutexes()).get(0))).isGreaterThan(counter(first.get(2)));
    }

    @Test
    void writeLockAmongThemIsDowngradedAndKeepsItsToken() {
        Claim writer = alice.write(x);
        long counter = granted(store, writer).counter();
        granted(other, bob.mutex(y));
        List<Claim> claims = List.of(writer.withPermits(1).again(), alice.mutex(y));
        busy(claims);
        assertThat(nodes(observer, x))
                .as("a busy attempt does not shrink a grant that was held before")
                .allMatch(node -> node.contains("__WRIT__"));
        assertThat(released(other, holders(other, y).get(0).again())).isTrue();
        assertThat(counter(granted(claims).get(0))).isEqualTo(counter);
        assertThat(nodes(observer, x)).singleElement().asString().contains("__READ__");
        granted(other, bob.read(x));
    }

    @Test
    void kindConflictInOneDeletesAll() {
        granted(other, bob.claim(y, 1, 3));
        assertThat(failure(store.tryAcquireAll(mutexes()))).isInstanceOf(KindConflictException.class);
        awaitUntil(() -> nodes(observer, x).isEmpty() && nodes(observer, z).isEmpty());
        assertThat(nodes(observer, y)).hasSize(1);
    }

    @Test
    void nodesCreatedAfterTheirReleaseAreDeleted() throws Exception {
        CuratorFramework client = closing(Clients.started(proxy.hosts()));
        LockStore ours = closing(ZooKeeperLockStore.over(client));
        Claim holder = bob.mutex(name);
        granted(ours, holder);
        List<Claim> claims = mutexes();
        // The attempt is on its way when its claims are released: the store cannot know whether it arrived.
        proxy.holdReplies();
        CompletionStage<List<Attempt>> attempt = ours.tryAcquireAll(claims);
        List<CompletionStage<Released>> releases =
                claims.stream().map(claim -> ours.release(claim.again())).toList();
        proxy.letReplies();
        releases.forEach(WithServer::get);
        assertThat(get(attempt)).noneMatch(Granted.class::isInstance);
        for (Claim claim : claims) {
            client.create()
                    .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
                    .forPath("/holdfast/" + claim.name() + "/" + NodeName.prefix(claim));
        }
        awaitUntil(() -> {
            assertThat(renewed(ours, holder)).isInstanceOf(Granted.class);
            return List.of(x, y, z).stream()
                    .allMatch(one -> nodes(observer, one).isEmpty());
        });
    }

    // The nodes of a failed attempt exist only for a moment. Claims that queued behind them must be notified of
    // their deletion.
    @Test
    void failedAttemptCostsNoOtherClientItsTurn() {
        Claim holder = bob.mutex(z);
        granted(other, holder);
        for (int round = 0; round < 60; round++) {
            Claim permits = bob.claim(y, 1, 2);
            granted(other, permits);
            CompletionStage<List<Attempt>> attempt =
                    store.tryAcquireAll(List.of(alice.mutex(x), alice.claim(y, 1, 2), alice.mutex(z)));
            Claim mutex = bob.mutex(x);
            Claim more = bob.claim(y, 1, 2);
            RecordingListener first = enqueued(other, mutex);
            RecordingListener second = enqueued(other, more);
            assertThat(get(attempt)).noneMatch(Granted.class::isInstance);
            awaitGrant(first);
            awaitGrant(second);
            for (Claim claim : List.of(permits, mutex, more)) {
                assertThat(released(other, claim)).isTrue();
            }
        }
    }

    // Two clients name the same locks in different orders: of concurrent attempts one always acquires all.
    @Test
    void attemptsInOppositeOrdersDoNotRefuseEachOtherForEver() throws Exception {
        int[] unguarded = {0};
        int[] taken = {0, 0};
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            int who = i;
            LockStore own = i == 0 ? store : other;
            tasks.add(() -> {
                for (int won = 0; won < 40; ) {
                    List<Claim> claims = who == 0
                            ? List.of(alice.mutex(x), alice.mutex(y), alice.mutex(z))
                            : List.of(bob.mutex(z), bob.mutex(y), bob.mutex(x));
                    if (get(own.tryAcquireAll(claims)).get(0) instanceof Granted) {
                        int read = unguarded[0];
                        Thread.yield();
                        unguarded[0] = read + 1;
                        won++;
                        taken[who] = won;
                        claims.forEach(claim -> assertThat(released(own, claim)).isTrue());
                    }
                }
                return null;
            });
        }
        runAll(tasks);
        assertThat(unguarded[0]).isEqualTo(80);
        assertThat(taken).containsExactly(40, 40);
    }

    // The engine first tries all names at once, and then waits for one after the other, sorted by name.
    @Test
    void clientsThatNameThemInOtherOrdersWaitAndNeitherStarves() throws Exception {
        int[] unguarded = {0};
        List<Callable<Void>> tasks = new ArrayList<>();
        List<List<LockName>> orders = List.of(List.of(x, y, z), List.of(z, y, x), List.of(y, x), List.of(x, z));
        for (List<LockName> order : orders) {
            Holdfast locks = closing(Holdfast.over(open()));
            tasks.add(() -> {
                DistributedLock all =
                        locks.multiLock(order.stream().map(LockName::value).toArray(String[]::new));
                for (int round = 0; round < 40; round++) {
                    // All four share the lock x.
                    assertThat(all.tryLock(30, TimeUnit.SECONDS)).isTrue();
                    int read = unguarded[0];
                    Thread.yield();
                    unguarded[0] = read + 1;
                    all.unlock();
                }
                return null;
            });
        }
        runAll(tasks);
        assertThat(unguarded[0]).isEqualTo(orders.size() * 40);
        awaitUntil(() ->
                List.of(x, y, z).stream().allMatch(one -> nodes(observer, one).isEmpty()));
    }

    private void runAll(List<Callable<Void>> tasks) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
        try {
            for (Future<Void> one : threads.invokeAll(tasks, 60, TimeUnit.SECONDS)) {
                one.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private List<Claim> mutexes() {
        return List.of(alice.mutex(x), alice.mutex(y), alice.mutex(z));
    }

    private List<Attempt> granted(List<Claim> claims) {
        List<Attempt> attempts = get(store.tryAcquireAll(claims));
        assertThat(attempts).hasSize(claims.size()).allMatch(Granted.class::isInstance);
        return attempts;
    }

    private static void assertAllGranted(List<Attempt> attempts) {
        assertThat(attempts).hasSize(3).allMatch(Granted.class::isInstance);
    }

    private void busy(List<Claim> claims) {
        assertThat(get(store.tryAcquireAll(claims))).noneMatch(Granted.class::isInstance);
    }

    private void releaseAll() {
        for (LockName one : List.of(x, y, z)) {
            holders(store, one).forEach(claim -> released(store, claim.again()));
        }
    }

    private static long counter(Attempt attempt) {
        return ((Granted) attempt).counter();
    }
}
