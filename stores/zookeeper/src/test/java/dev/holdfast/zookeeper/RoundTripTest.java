package dev.holdfast.zookeeper;

import static dev.holdfast.zookeeper.Proxy.only;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.zookeeper.session.SessionNodes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.IntFunction;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Test;

/** The budget of round trips and of requests, counted by a proxy. */
class RoundTripTest extends WithServer {

    /** Long enough that what is sent back to back arrives before any answer does. */
    /** What is sent together must be sent before the first answer is here, also if the machine is busy in between. */
    private static final Duration ONE_WAY = Duration.ofMillis(75);

    private final Proxy proxy = proxy();
    private final LockStore store = open(proxy.hosts());

    private int settledRequests;

    @Test
    void firstAcquireOfANameIsOneTripAndMakesItsFolder() {
        get(store.release(granted(alice.mutex(new LockName(name + "-other")))));
        slow();
        granted(store, alice.mutex(name));
        assertThat(proxy.turns()).isEqualTo(1);
        assertThat(proxy.counts()).isEqualTo(only("createContainer", 1, "create2", 1, "getChildren", 1));
    }

    @Test
    void acquireOfAFreeLockAndReleaseAreOneTripEach() {
        for (Claim claim : List.of(alice.mutex(name), alice.write(name), alice.read(name), alice.claim(name, 2, 5))) {
            get(store.release(granted(claim)));
            slow();
            Claim again = new Claim(
                    name,
                    new dev.holdfast.spi.ClaimId(claim.id().client(), claim.id().sequence() + 1_000),
                    claim.permits(),
                    claim.limit(),
                    claim.lease(),
                    claim.owner());
            granted(store, again);
            assertThat(proxy.turns()).isEqualTo(1);
            assertThat(proxy.counts()).isEqualTo(only("create2", 1, "getChildren", 1));
            proxy.reset();
            assertThat(released(store, again)).isTrue();
            assertThat(proxy.turns()).isEqualTo(1);
            assertThat(proxy.counts()).isEqualTo(only("delete", 1));
            fast();
        }
    }

    @Test
    void enqueueOnAFreeLockIsOneTrip() {
        get(store.release(granted(alice.mutex(name))));
        slow();
        awaitGrant(enqueued(store, alice.mutex(name)));
        assertThat(proxy.turns()).isEqualTo(1);
        assertThat(proxy.counts()).isEqualTo(only("create2", 1, "getChildren", 1));
    }

    @Test
    void busyIsLearntInOneTripAndLeavesNothing() {
        granted(open(), alice.mutex(name));
        busy(store, bob.mutex(name));
        slow();
        busy(store, bob.mutex(name));
        awaitUntil(() -> proxy.counts().containsKey("delete"));
        assertThat(proxy.counts()).isEqualTo(only("create2", 1, "getChildren", 1, "delete", 1));
        fast();
        awaitUntil(() -> nodes(curator(), name).size() == 1);
    }

    @Test
    void handOverToTheNextIsTheDeletionAndNothingElse() {
        LockStore other = open();
        Claim holder = alice.mutex(name);
        granted(other, holder);
        RecordingListener waiter = waiting(store, bob.mutex(name));
        // The watches are set behind the answer.
        awaitUntil(() -> proxy.counts().getOrDefault("getData", 0) == 1);
        pause(20);
        slow();
        released(other, holder);
        awaitGrant(waiter);
        assertThat(proxy.counts()).isEmpty();
    }

    @Test
    void renewalOfManyLocksIsOneTripAndTwoRequests() {
        List<Claim> claims = held(50);
        slow();
        assertThat(get(store.renew(claims))).allMatch(Renewed.Held.class::isInstance);
        assertThat(proxy.turns()).isEqualTo(1);
        assertThat(proxy.counts()).isEqualTo(only("sync", 1, "getEphemerals", 1));
    }

    @Test
    void renewalOfFewLocksListsTheirFoldersInOneTrip() {
        List<Claim> claims = held(SessionNodes.FEWEST - 1);
        slow();
        assertThat(get(store.renew(claims))).allMatch(Renewed.Held.class::isInstance);
        assertThat(proxy.turns()).isEqualTo(1);
        assertThat(proxy.counts()).isEqualTo(only("sync", 1, "getChildren", SessionNodes.FEWEST - 1));
    }

    @Test
    void aWaitingClaimAmongManyIsListed() {
        List<Claim> claims = held(50);
        Claim holder = bob.mutex(name);
        granted(open(), holder);
        Claim waiter = alice.mutex(name);
        waiting(store, waiter);
        claims.add(25, waiter);
        slow();
        List<Renewed> answers = get(store.renew(claims));
        assertThat(answers.get(25)).isInstanceOf(Renewed.Waiting.class);
        assertThat(answers).filteredOn(Renewed.Held.class::isInstance).hasSize(50);
        assertThat(proxy.turns()).isEqualTo(1);
        assertThat(proxy.counts()).isEqualTo(only("sync", 1, "getEphemerals", 1, "getChildren", 1));
    }

    /** What is not among the session's nodes is looked for in its folder before it is given up. */
    @Test
    void aNodeThatIsGoneCostsOneTripMore() throws Exception {
        List<Claim> claims = held(50);
        String folder = "/holdfast/" + claims.get(7).name();
        CuratorFramework curator = curator();
        curator.delete()
                .forPath(folder + '/' + curator.getChildren().forPath(folder).get(0));
        slow();
        List<Renewed> answers = get(store.renew(claims));
        assertThat(answers.get(7)).isEqualTo(new Renewed.Gone(Renewed.Reason.RELEASED));
        assertThat(answers).filteredOn(Renewed.Held.class::isInstance).hasSize(49);
        assertThat(proxy.turns()).isEqualTo(2);
        assertThat(proxy.counts()).isEqualTo(only("sync", 1, "getEphemerals", 1, "getChildren", 1));
    }

    /** The paths of all nodes together are more than a client takes in one reply. */
    @Test
    void renewalOfLongNamesIsAFewRequests() {
        // Too many names for a list of all locks; so not where other tests have theirs.
        LockStore apart = openUrl("zookeeper://" + proxy.hosts() + "/" + name + "?sessionTimeout=10s");
        String tail = "x".repeat(180);
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < 4_500; i += 100) {
            List<Claim> some = new ArrayList<>();
            for (int k = i; k < i + 100; k++) {
                some.add(alice.mutex(new LockName(name + "-" + k + tail)));
            }
            // At once, but not so many that a slow machine does not answer in time.
            some.stream()
                    .map(apart::tryAcquire)
                    .toList()
                    .forEach(stage -> assertThat(get(stage)).isInstanceOf(Attempt.Granted.class));
            claims.addAll(some);
        }
        proxy.reset();
        assertThat(get(apart.renew(claims))).allMatch(Renewed.Held.class::isInstance);
        assertThat(proxy.counts()).containsOnlyKeys("sync", "getEphemerals");
        assertThat(proxy.counts().get("getEphemerals")).isBetween(6, 100);
    }

    /** A client whose connection has a root of its own is told paths that it did not make. */
    @Test
    void locksBelowTheRootOfAConnectionAreRenewed() throws Exception {
        curator().create().orSetData().forPath("/tenant-" + name);
        CuratorFramework client = closing(Clients.started(proxy.hosts() + "/tenant-" + name));
        LockStore below = closing(ZooKeeperLockStore.over(client));
        List<Claim> claims = held(below, 50);
        for (int i = 0; i < 3; i++) {
            assertThat(get(below.renew(claims))).allMatch(Renewed.Held.class::isInstance);
        }
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
    void downgradeIsOneMultiAfterOneLook() {
        Claim writer = granted(alice.write(name));
        slow();
        granted(store, writer.withPermits(1));
        assertThat(proxy.turns()).isEqualTo(2);
        assertThat(proxy.counts()).isEqualTo(only("sync", 1, "getChildren", 1, "multi", 1));
    }

    @Test
    void requestsOfAMutexDoNotGrowWithTheCrowd() {
        assertSameForEachCrowd(i -> alice.mutex(name(i)));
    }

    @Test
    void requestsOfASemaphoreDoNotGrowWithTheCrowd() {
        assertSameForEachCrowd(i -> alice.claim(name(i), 2, 3));
    }

    @Test
    void requestsOfReadersBehindWritersDoNotGrowWithTheCrowd() {
        int few = requestsOfReaders(4);
        int many = requestsOfReaders(64);
        assertThat(many / 64.0).isLessThanOrEqualTo(few / 4.0 * 1.15);
    }

    private LockName name(int crowd) {
        return new LockName(name + "-" + crowd);
    }

    // What one more waiter costs, in a small crowd and in a large one: the first and the last of a crowd are cheaper.
    private void assertSameForEachCrowd(IntFunction<Claim> claims) {
        int few = requests(4, claims);
        int some = requests(16, claims);
        int many = requests(64, claims);
        assertThat((many - some) / 48.0).isEqualTo((some - few) / 12.0);
    }

    // A crowd waits; then each is granted in turn. All requests count, from the first to the last release. What
    // follows from one step is done before the next, so that the count is the same each time.
    private int requests(int crowd, IntFunction<Claim> claims) {
        Claim holder = granted(claims.apply(crowd));
        Claim beside = granted(alice.mutex(new LockName(name + "-beside-" + crowd)));
        proxy.reset();
        settledRequests = 0;
        List<Claim> waiters = new ArrayList<>();
        List<RecordingListener> listeners = new ArrayList<>();
        for (int i = 0; i < crowd; i++) {
            waiters.add(claims.apply(crowd));
            listeners.add(waiting(store, waiters.get(i)));
            settle(beside);
        }
        released(store, holder);
        for (int i = 0; i < crowd; i++) {
            awaitGrant(listeners.get(i));
            settle(beside);
            released(store, waiters.get(i));
            settle(beside);
        }
        return proxy.total() - settledRequests;
    }

    // A session's requests are answered in order, and what an answer leads to is sent before the next one is looked at.
    private void settle(Claim beside) {
        for (int i = 0; i < 4; i++) {
            renewed(store, beside);
            settledRequests += 2;
        }
    }

    private int requestsOfReaders(int readers) {
        LockName here = name(readers);
        Claim writer = granted(alice.write(here));
        Claim beside = granted(alice.mutex(new LockName(name + "-beside-" + readers)));
        proxy.reset();
        settledRequests = 0;
        List<Claim> claims = new ArrayList<>();
        List<RecordingListener> listeners = new ArrayList<>();
        for (int i = 0; i < readers; i++) {
            claims.add(bob.read(here));
            listeners.add(waiting(store, claims.get(i)));
            settle(beside);
        }
        released(store, writer);
        listeners.forEach(WithServer::awaitGrant);
        settle(beside);
        claims.forEach(claim -> released(store, claim));
        return proxy.total() - settledRequests;
    }

    private void slow() {
        // What is under way from before, such as watches, passes: there and back, if it was slow before, too.
        pause(2 * ONE_WAY.toMillis() + 30);
        proxy.delay(ONE_WAY);
        proxy.reset();
    }

    private void fast() {
        proxy.delay(Duration.ZERO);
    }

    private Claim granted(Claim claim) {
        CompletionStage<Attempt> attempt = store.tryAcquire(claim);
        assertThat(get(attempt)).isInstanceOf(Attempt.Granted.class);
        return claim;
    }
}
