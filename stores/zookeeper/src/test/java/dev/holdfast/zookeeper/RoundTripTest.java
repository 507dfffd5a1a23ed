package dev.holdfast.zookeeper;

import static dev.holdfast.zookeeper.Proxy.only;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.SignalCost;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Test;

/** The number of round trips and requests of each operation, counted by a proxy. */
class RoundTripTest extends WithServer {

    /** Far longer than an observer beside the proxy needs to look. */
    private static final Duration ON_ITS_WAY = Duration.ofMillis(100);

    private final Proxy proxy = proxy();
    private final LockStore store = open(proxy.hosts());

    private int settledRequests;

    @Test
    void firstAcquireOfANameIsOneRoundTripAndCreatesItsParentNode() {
        get(store.release(granted(alice.mutex(new LockName(name + "-other")))));
        Attempt attempt = proxy.inOneRoundTrip(
                () -> store.tryAcquire(alice.mutex(name)), only("createContainer", 1, "create2", 1, "getChildren", 1));
        assertThat(attempt).isInstanceOf(Granted.class);
    }

    @Test
    void acquireOfAFreeLockAndReleaseAreOneRoundTripEach() {
        for (Claim claim : List.of(alice.mutex(name), alice.write(name), alice.read(name), alice.claim(name, 2, 5))) {
            get(store.release(granted(claim)));
            Claim again = new Claim(
                    name,
                    new dev.holdfast.spi.ClaimId(claim.id().client(), claim.id().sequence() + 1_000),
                    claim.permits(),
                    claim.limit(),
                    claim.lease(),
                    claim.owner());
            assertThat(proxy.inOneRoundTrip(() -> store.tryAcquire(again), only("create2", 1, "getChildren", 1)))
                    .isInstanceOf(Granted.class);
            assertThat(proxy.inOneRoundTrip(() -> store.release(again), only("delete", 1))
                            .wasOwner())
                    .isTrue();
        }
    }

    @Test
    void busyIsReportedInTwoRoundTrips() {
        granted(open(), alice.mutex(name));
        busy(store, bob.mutex(name));
        Attempt attempt = proxy.inTwoRoundTrips(
                () -> store.tryAcquire(bob.mutex(name)),
                only("create2", 1, "getChildren", 1),
                "delete",
                only("create2", 1, "getChildren", 1, "delete", 1));
        assertThat(attempt).isInstanceOf(Attempt.Busy.class);
    }

    /** It was reported while the node was there still, so that another client could be refused a lock that nobody held. */
    @Test
    void nothingIsLeftWhenBusyIsReported() {
        granted(open(), alice.mutex(name));
        busy(store, bob.mutex(name));
        proxy.delay(ON_ITS_WAY);
        busy(store, bob.mutex(name));
        assertThat(nodes(curator(), name)).hasSize(1);
    }

    @Test
    void handOverToTheNextIsTheDeletionAndNothingElse() {
        LockStore other = open();
        Claim holder = alice.mutex(name);
        granted(other, holder);
        RecordingListener waiter = waiting(store, bob.mutex(name));
        // The watches are set after the reply, and the reply to a later request comes after theirs.
        awaitUntil(() -> proxy.counts().getOrDefault("getData", 0) == 2);
        granted(store, alice.mutex(new LockName(name + "-other")));
        proxy.reset();
        released(other, holder);
        awaitGrant(waiter);
        assertThat(proxy.counts()).isEmpty();
    }

    /** It watches the node of the holder. When it watched the folder, each change in it cost a list. */
    @Test
    void firstToWaitBehindOneHolderOfPermitsDoesNotHearOfThoseBehindIt() {
        LockName free = new LockName(name + "-other");
        get(store.release(granted(alice.mutex(free))));
        LockStore other = open();
        Claim holder = alice.claim(name, 2, 3);
        granted(other, holder);
        RecordingListener first = waiting(store, bob.claim(name, 2, 3));
        awaitUntil(() -> proxy.counts().getOrDefault("getData", 0) == 1);
        proxy.reset();
        Claim later = alice.claim(name, 1, 3);
        waiting(other, later);
        released(other, later);
        // Its reply comes after the events of all that.
        granted(store, alice.mutex(free));
        assertThat(proxy.counts()).isEqualTo(only("create2", 1, "getChildren", 1));
        released(other, holder);
        awaitGrant(first);
    }

    /** So many that their names alone would be more than a client accepts in one reply. */
    @Test
    void renewalOfManyLocksIsOneHeartbeat() {
        List<Claim> claims = new ArrayList<>();
        // Uses a root of its own, because a list of so many names would break the tests that list all locks.
        String patient = "?sessionTimeout=60s&timeout=20s";
        LockStore apart = openUrl("zookeeper://" + proxy.hosts() + "/" + name + patient);
        String tail = "x".repeat(180);
        for (int i = 0; i < 5_000; i += 100) {
            List<Claim> some = new ArrayList<>();
            for (int k = i; k < i + 100; k++) {
                some.add(alice.mutex(new LockName(name + "-" + k + tail)));
            }
            // All at the same time, but few enough that a slow machine replies in time.
            some.stream()
                    .map(apart::tryAcquire)
                    .toList()
                    .forEach(stage -> assertThat(get(stage)).isInstanceOf(Granted.class));
            claims.addAll(some);
        }
        proxy.reset();
        assertThat(get(apart.renew(claims))).allMatch(Granted.class::isInstance);
        assertThat(proxy.counts()).isEqualTo(only("multi", 1, "getData", claims.size()));
        assertThat(proxy.inOneRoundTrip(() -> apart.renew(claims), only("multi", 1)))
                .allMatch(Granted.class::isInstance);
    }

    @Test
    void firstRenewalReadsEachNodeInTheSameRoundTripAndLaterOnesReadNothing() {
        List<Claim> claims =
                List.of(held(alice.mutex(name(1))), held(alice.write(name(2))), held(alice.claim(name(3), 2, 5)));
        assertThat(proxy.inOneRoundTrip(() -> store.renew(claims), only("multi", 1, "getData", 3)))
                .allMatch(Granted.class::isInstance);
        assertThat(proxy.inOneRoundTrip(() -> store.renew(claims), only("multi", 1)))
                .allMatch(Granted.class::isInstance);
    }

    private Claim held(Claim claim) {
        granted(store, claim);
        return claim;
    }

    private List<Claim> heldAndWatched(int number) {
        List<Claim> claims = held(number);
        get(store.renew(claims));
        return claims;
    }

    @Test
    void aWaitingClaimAmongManyIsListed() {
        List<Claim> claims = heldAndWatched(50);
        Claim holder = bob.mutex(name);
        granted(open(), holder);
        Claim waiter = alice.mutex(name);
        waiting(store, waiter);
        claims.add(25, waiter);
        renewed(store, waiter);
        List<Renewed> answers = proxy.inOneRoundTrip(() -> store.renew(claims), only("multi", 1, "getChildren", 1));
        assertThat(answers.get(25)).isInstanceOf(Renewed.Waiting.class);
        assertThat(answers).filteredOn(Granted.class::isInstance).hasSize(50);
    }

    /**
     * A node that is not found is searched below its parent node before it is reported as gone. It is not watched yet, so that
     * the client knows nothing of its end.
     */
    @Test
    void aDeletedNodeCostsAListOfItsParentNode() throws Exception {
        List<Claim> claims = held(50);
        String parent = "/holdfast/" + claims.get(7).name();
        CuratorFramework curator = curator();
        curator.delete()
                .forPath(parent + '/' + curator.getChildren().forPath(parent).get(0));
        proxy.reset();
        List<Renewed> answers = get(store.renew(claims));
        assertThat(answers.get(7)).isEqualTo(new Renewed.Gone(Renewed.Reason.RELEASED));
        assertThat(answers).filteredOn(Granted.class::isInstance).hasSize(49);
        assertThat(proxy.counts()).isEqualTo(only("multi", 1, "getData", 50, "getChildren", 1));
    }

    @Test
    void locksBelowAChrootAreRenewed() throws Exception {
        curator().create().orSetData().forPath("/tenant-" + name);
        CuratorFramework client = closing(Clients.started(proxy.hosts() + "/tenant-" + name));
        LockStore below = closing(ZooKeeperLockStore.over(client));
        List<Claim> claims = held(below, 50);
        assertThat(get(below.renew(claims))).allMatch(Granted.class::isInstance);
        assertThat(proxy.inOneRoundTrip(() -> below.renew(claims), only("multi", 1)))
                .allMatch(Granted.class::isInstance);
    }

    private List<Claim> held(int number) {
        return held(store, number);
    }

    private List<Claim> held(LockStore in, int number) {
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < number; i++) {
            Claim claim = alice.mutex(new LockName(name + "-" + i));
            granted(in, claim);
            claims.add(claim);
        }
        return claims;
    }

    @Test
    void downgradeIsOneMultiAfterOneList() {
        Claim writer = granted(alice.write(name));
        Attempt attempt = proxy.afterOneRoundTrip(
                () -> store.tryAcquire(writer.withPermits(1)), only("multi", 1, "getChildren", 1));
        assertThat(attempt).isInstanceOf(Granted.class);
        assertThat(proxy.counts()).isEqualTo(only("multi", 2, "getChildren", 1));
    }

    @Test
    void requestsOfAMutexDoNotGrowWithTheNumberOfWaiters() {
        assertCostPerWaiter(5, i -> alice.mutex(name(i)));
    }

    @Test
    void requestsOfASemaphoreDoNotGrowWithTheNumberOfWaiters() {
        assertCostPerWaiter(8, i -> alice.claim(name(i), 2, 3));
    }

    @Test
    void requestsOfReadersBehindWritersDoNotGrowWithTheNumberOfReaders() {
        int few = requestsOfReaders(4);
        int many = requestsOfReaders(64);
        assertThat(many / 64.0).isLessThanOrEqualTo(few / 4.0 * 1.15);
    }

    @Test
    void requestsOfASignalDoNotGrowWithTheNumberOfWaitersAndTheOthersDoNothing() {
        Proxy theirs = proxy();
        AtomicInteger crowd = new AtomicInteger();
        Runnable reset = () -> {
            // Who waits reads its own node behind the answer.
            awaitUntil(() -> theirs.counts().getOrDefault("getData", 0) == crowd.get());
            proxy.reset();
            theirs.reset();
        };
        SignalCost<List<Map<String, Integer>>> cost =
                new SignalCost<>(store, open(theirs.hosts()), reset, () -> List.of(counts(proxy), counts(theirs)));
        Map<String, Integer> ours = only("sync", 4, "getChildren", 8, "getData", 16, "delete", 4);
        crowd.set(SignalCost.FEW);
        assertThat(cost.ofSignals(name + "-few", crowd.get())).containsExactly(ours, Map.of());
        crowd.set(SignalCost.MANY);
        assertThat(cost.ofSignals(name + "-many", crowd.get())).containsExactly(ours, Map.of());
        assertThat(cost.ofSignalAll(name + "-all", crowd.get()))
                .containsExactly(only("sync", 1, "getChildren", 65, "getData", 64, "delete", 64), Map.of());
    }

    /** Without the writes of a signal that look like those that keep the session alive. */
    private static Map<String, Integer> counts(Proxy proxy) {
        Map<String, Integer> counts = proxy.counts();
        counts.keySet().retainAll(Set.of("sync", "getChildren", "getData", "exists", "delete"));
        return counts;
    }

    private LockName name(int waiterCount) {
        return new LockName(name + "-" + waiterCount);
    }

    // The cost of one more waiter is the same with few and with many waiters. It uses differences, because the first
    // and the last waiter cost less.
    private void assertCostPerWaiter(double expected, IntFunction<Claim> claims) {
        int few = requests(4, claims);
        int some = requests(16, claims);
        int many = requests(64, claims);
        assertThat((some - few) / 12.0).isEqualTo(expected);
        assertThat((many - some) / 48.0).isEqualTo(expected);
    }

    // All waiters queue, and then each is granted in turn. Counts all requests until the last release. Each step
    // waits for the requests that it causes, so that the count is the same in each run.
    private int requests(int waiterCount, IntFunction<Claim> claims) {
        Claim holder = granted(claims.apply(waiterCount));
        Claim settleClaim = settleClaim(waiterCount);
        proxy.reset();
        settledRequests = 0;
        List<Claim> waiters = new ArrayList<>();
        List<RecordingListener> listeners = new ArrayList<>();
        for (int i = 0; i < waiterCount; i++) {
            waiters.add(claims.apply(waiterCount));
            listeners.add(waiting(store, waiters.get(i)));
            settle(settleClaim);
        }
        released(store, holder);
        for (int i = 0; i < waiterCount; i++) {
            awaitGrant(listeners.get(i));
            settle(settleClaim);
            released(store, waiters.get(i));
            settle(settleClaim);
        }
        return proxy.total() - settledRequests;
    }

    /**
     * A refresh reads two nodes, however many wait. A client that refreshes one of many waiters would else read the whole
     * queue, and all clients together the square of it.
     */
    @Test
    void repliesToARefreshDoNotGrowWithTheNumberOfWaiters() {
        long few = bytesOfRefreshes(20);
        long many = bytesOfRefreshes(160);
        assertThat(many / 160.0).isLessThan(few / 20.0 * 1.5);
    }

    // Each waiter is refreshed by itself, as those of other clients are. Counts the bytes of all replies.
    private long bytesOfRefreshes(int waiterCount) {
        LockName queue = name(waiterCount);
        granted(alice.mutex(queue));
        List<Claim> waiters = new ArrayList<>();
        for (int i = 0; i < waiterCount; i++) {
            waiters.add(bob.mutex(queue));
            waiting(store, waiters.get(i));
        }
        renewed(store, waiters.get(0));
        proxy.reset();
        for (Claim waiter : waiters) {
            assertThat(renewed(store, waiter)).isInstanceOf(Renewed.Waiting.class);
        }
        return proxy.replyBytes();
    }

    @Test
    void refreshOfManyWaitersOfOneClientListsTheirQueueOnce() {
        LockName queue = name(50);
        granted(alice.mutex(queue));
        List<Claim> waiters = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            waiters.add(bob.mutex(queue));
            waiting(store, waiters.get(i));
        }
        // Its reply arrives after those of the watches.
        renewed(store, waiters.get(0));
        assertThat(proxy.inOneRoundTrip(() -> store.renew(waiters), only("multi", 1, "getChildren", 1)))
                .allMatch(Renewed.Waiting.class::isInstance);
    }

    // Renewals wait for earlier requests: the server replies in order, and the client sends the requests that a
    // reply causes before it handles the next reply.
    private void settle(Claim settleClaim) {
        for (int i = 0; i < 4; i++) {
            renewed(store, settleClaim);
            settledRequests++;
        }
    }

    private Claim settleClaim(int number) {
        Claim claim = granted(alice.mutex(new LockName(name + "-beside-" + number)));
        renewed(store, claim);
        return claim;
    }

    private int requestsOfReaders(int readers) {
        LockName here = name(readers);
        Claim writer = granted(alice.write(here));
        Claim settleClaim = settleClaim(readers);
        proxy.reset();
        settledRequests = 0;
        List<Claim> claims = new ArrayList<>();
        List<RecordingListener> listeners = new ArrayList<>();
        for (int i = 0; i < readers; i++) {
            claims.add(bob.read(here));
            listeners.add(waiting(store, claims.get(i)));
            settle(settleClaim);
        }
        released(store, writer);
        listeners.forEach(WithServer::awaitGrant);
        settle(settleClaim);
        claims.forEach(claim -> released(store, claim));
        return proxy.total() - settledRequests;
    }

    private Claim granted(Claim claim) {
        CompletionStage<Attempt> attempt = store.tryAcquire(claim);
        assertThat(get(attempt)).isInstanceOf(Granted.class);
        return claim;
    }
}
