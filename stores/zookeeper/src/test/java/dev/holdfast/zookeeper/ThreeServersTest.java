package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.HistoryChecker;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ContendingProcesses;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An ensemble of three servers, each a process of its own: how faults of servers affect the clients. */
class ThreeServersTest {

    private static final int CLIENTS = 8;

    @TempDir
    static Path directory;

    private static ThreeServers servers;

    private final LockName name = new LockName("test-" + UUID.randomUUID());
    private final Claimant alice = new Claimant("alice", Duration.ofMinutes(10));
    private final Claimant bob = new Claimant("bob", Duration.ofMinutes(10));

    @BeforeAll
    static void startTheServers() {
        servers = new ThreeServers(directory);
        for (int i = 0; i < 3; i++) {
            servers.awaitServing(i);
        }
    }

    @AfterAll
    static void stopTheServers() {
        servers.close();
    }

    @Test
    void twoServersShowTheSame() {
        try (LockStore one = openPatient(servers.host(0));
                LockStore two = openPatient(servers.host(1))) {
            for (int i = 0; i < 20; i++) {
                var first = alice.mutex(name);
                var second = bob.mutex(name);
                long counter = StoreTest.granted(one, first).counter();
                RecordingListener listener = StoreTest.waiting(two, second);
                assertThat(StoreTest.released(one, first)).isTrue();
                assertThat(StoreTest.awaitGrant(listener).counter()).isGreaterThan(counter);
                assertThat(StoreTest.released(two, second)).isTrue();
            }
        }
    }

    private static void followWithServerZero() {
        if (servers.leader() == 0) {
            servers.kill(0);
            servers.leader();
            servers.start(0);
            servers.awaitServing(0);
        }
    }

    // The follower has not learned of the deletion when the renewal reaches it.
    @Test
    void renewalAtAFollowerThatLagsBehindBelievesNoWatchThatIsOutOfDate() {
        followWithServerZero();
        try (LockStore store = openPatient(servers.host(0));
                LockStore elsewhere = openPatient(servers.host(servers.leader()))) {
            Claim claim = alice.mutex(name);
            StoreTest.granted(store, claim);
            assertThat(StoreTest.renewed(store, claim)).isInstanceOf(Granted.class);
            servers.cutOffServerZero();
            assertThat(StoreTest.released(elsewhere, claim.again())).isTrue();
            CompletionStage<List<Renewed>> atTheFollower = store.renew(List.of(claim));
            servers.reconnectServerZero();
            Renewed answer = atTheFollower
                    .thenApply(answers -> answers.get(0))
                    .exceptionallyCompose(slow ->
                            CompletableFuture.completedStage(StoreTest.repaired(() -> StoreTest.renewed(store, claim))))
                    .toCompletableFuture()
                    .join();
            assertThat(answer).isEqualTo(new Renewed.Gone(Renewed.Reason.RELEASED));
        } finally {
            servers.reconnectServerZero();
            servers.awaitServing(0);
        }
    }

    // The follower still answers its client's reads and pings, but no request that needs the leader.
    @Test
    void holderAtAFollowerThatIsCutOffLosesItsLeaseBeforeTheNextIsGranted() throws Exception {
        followWithServerZero();
        try (LockStore store = open(servers.host(0));
                Holdfast locks = Holdfast.over(store);
                LockStore elsewhere = open(servers.host(servers.leader()))) {
            CompletableFuture<LossReason> lost = new CompletableFuture<>();
            Lease lease = locks.lock(name.value()).acquire();
            lease.onLost(lost::complete);
            ValidityAtTheGrant next = new ValidityAtTheGrant(lease);
            elsewhere.enqueue(bob.mutex(name), next);
            servers.cutOffServerZero();
            assertThat(lost.get(20, TimeUnit.SECONDS)).isIn(LossReason.STORE_UNREACHABLE, LossReason.EXPIRED);
            assertThat(next.whenGranted())
                    .as("granted before the holder knew of its loss")
                    .isFalse();
        } finally {
            servers.reconnectServerZero();
            servers.awaitServing(0);
        }
    }

    // Server 0 still takes itself for the leader, and answers whatever it answers without a majority.
    @Test
    void holderAtADeposedLeaderLosesItsLeaseBeforeTheNextIsGranted() throws Exception {
        servers.leadByServerZero();
        try (LockStore store = open(servers.host(0));
                Holdfast locks = Holdfast.over(store);
                Holdfast elsewhere = Holdfast.over(open(servers.host(1) + "," + servers.host(2)))) {
            CompletableFuture<LossReason> lost = new CompletableFuture<>();
            Lease lease = locks.lock(name.value()).acquire();
            lease.onLost(lost::complete);
            // Its session may end in the election; then it queues up anew.
            CompletableFuture<Lease> next = elsewhere
                    .lock(name.value(), LockOptions.defaults().withStoreTimeout(Duration.ofMinutes(1)))
                    .acquireAsync();
            StoreTest.awaitUntil(
                    () -> !locks.state(name.value()).orElseThrow().waiters().isEmpty());
            servers.deposeServerZero();
            assertThat(lost.get(30, TimeUnit.SECONDS)).isIn(LossReason.STORE_UNREACHABLE, LossReason.EXPIRED);
            assertThat(next).as("granted before the holder knew of its loss").isNotDone();
            assertThat(lease.isValid()).isFalse();
            next.get(60, TimeUnit.SECONDS).close();
        } finally {
            servers.reconnectServerZero();
            servers.awaitServing(0);
        }
    }

    @Test
    void eightProcessesContendWhileServersAreKilledFrozenAndStarted() {
        String url = "zookeeper://" + servers.hosts() + "?sessionTimeout=4s&timeout=2s";
        try (ContendingProcesses clients = ContendingProcesses.start(CLIENTS, url, name.value())) {
            int leader = servers.leader();
            servers.kill(leader);
            clients.awaitProgress("the leader was killed");
            servers.start(leader);
            servers.awaitServing(leader);
            int follower = (servers.leader() + 1) % 3;
            servers.pause(follower);
            clients.awaitProgress("a follower froze");
            servers.resume(follower);
            servers.awaitServing(follower);
            int second = servers.leader();
            servers.pause(second);
            clients.awaitProgress("the leader froze");
            servers.resume(second);
            servers.awaitServing(second);
            int third = (servers.leader() + 1) % 3;
            servers.kill(third);
            clients.awaitProgress("a follower was killed");
            servers.start(third);
            servers.awaitServing(third);
            clients.awaitProgress("all servers were back");
            HistoryChecker history = clients.stop();
            history.check();
            System.out.println(history.size() + " holds of " + CLIENTS
                    + " processes: no two at once, and each token larger than the one before");
        }
    }

    // With a session that a test outlives.
    private static LockStore open(String hosts) {
        return open(hosts, "sessionTimeout=5s&timeout=2s");
    }

    // With a session and a time limit that are longer than any pause of a busy machine.
    private static LockStore openPatient(String hosts) {
        return open(hosts, "sessionTimeout=20s&timeout=15s");
    }

    private static LockStore open(String hosts, String options) {
        return new ZooKeeperLockStoreProvider().open("zookeeper://" + hosts + "?" + options, MonotonicClock.SYSTEM);
    }
}
