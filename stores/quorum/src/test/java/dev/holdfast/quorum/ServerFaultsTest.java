package dev.holdfast.quorum;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.redis.RedisLockStoreProvider;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.HistoryChecker;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ContendingProcesses;
import dev.holdfast.testkit.process.FaultProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Eight processes contend for one lock over real servers that fail. While a minority is away the lock is still passed on;
 * whatever happens, no two hold it at once, and each token is larger than the one before.
 */
class ServerFaultsTest extends StoreTest {

    private static final int CLIENTS = 8;
    private static final Duration LEASE = Duration.ofSeconds(3);

    /** The shortest one: a server that lost its data counts again after this time. */
    private static final Duration MAX_LEASE = Duration.ofSeconds(5);

    private final List<RedisServer> servers = new ArrayList<>();
    private final List<FaultProxy> lines = new ArrayList<>();

    private String start(int count) {
        for (int i = 0; i < count; i++) {
            servers.add(closing(RedisServer.start()));
            lines.add(closing(new FaultProxy(servers.get(i).port())));
        }
        return lines.stream()
                .map(line -> "redis://" + line.address())
                .collect(Collectors.joining(",", "quorum:", "#newNodes=true&maxLease=" + MAX_LEASE.toSeconds() + "s"));
    }

    private void kill(int server) {
        servers.get(server).kill();
    }

    /** Starts a server anew. It keeps its data in memory only. */
    private void startEmpty(int server) {
        servers.get(server).startAgain();
    }

    private void restartEmpty(int server) {
        kill(server);
        startEmpty(server);
    }

    private void freeze(int server) {
        servers.get(server).signal("STOP");
    }

    private void thaw(int server) {
        servers.get(server).signal("CONT");
    }

    /** Waits until the votes of a server that was started anew are counted. */
    private void awaitCounted(int server) {
        try (LockStore direct =
                new RedisLockStoreProvider().open(servers.get(server).url(), MonotonicClock.SYSTEM)) {
            Claim claim = new Claimant("test", LONG).read(new LockName(name + "-age"));
            // The margin for the drift of clocks is less.
            Duration enough = MAX_LEASE.plus(MAX_LEASE.dividedBy(20));
            awaitUntil(() -> {
                pause(20);
                NodeAttempt attempt = get(direct.tryAcquireAsNode(claim, 1, false));
                return attempt.age().compareTo(enough) >= 0;
            });
        }
    }

    @Test
    void eightProcessesGoOnWhileOneOfThreeServersIsAway() throws InterruptedException {
        String url = start(3);
        try (ContendingProcesses clients = ContendingProcesses.start(CLIENTS, url, name.value(), LEASE);
                Holdfast locks = Holdfast.connect(url)) {
            kill(0);
            clients.awaitProgress("one of three servers was killed");
            startEmpty(0);
            clients.awaitProgress("it was back without its data");
            awaitCounted(0);
            freeze(1);
            clients.awaitProgress("another one froze");
            thaw(1);
            lines.get(2).silence();
            clients.awaitProgress("the third one was cut off");
            lines.get(2).heal();
            HistoryChecker.Hold held = holdWhile(locks, () -> {
                restartEmpty(1);
                restartEmpty(2);
            });
            clients.awaitProgress("two of three lost their data while the lock was held");
            HistoryChecker history = clients.stop();
            history.add(held);
            check(history);
        }
    }

    @Test
    void eightProcessesGoOnWhileTwoOfFiveServersAreAway() {
        String url = start(5);
        try (ContendingProcesses clients = ContendingProcesses.start(CLIENTS, url, name.value(), LEASE)) {
            kill(0);
            freeze(1);
            clients.awaitProgress("of five servers one was killed and one froze");
            startEmpty(0);
            thaw(1);
            awaitCounted(0);
            lines.get(2).silence();
            restartEmpty(3);
            clients.awaitProgress("one was cut off and one restarted without its data");
            lines.get(2).heal();
            clients.awaitProgress("the line was mended");
            check(clients.stop());
        }
    }

    // The lease is as long as may be and is not renewed, so that its holder learns of nothing. The hold counts
    // until the last check that found the lease valid.
    private HistoryChecker.Hold holdWhile(Holdfast locks, Runnable faults) throws InterruptedException {
        long asked = System.nanoTime();
        Lease lease = locks.lock(name.value(), LockOptions.defaults().withFixedLease(MAX_LEASE))
                .acquire();
        long from = System.nanoTime();
        faults.run();
        long to = from;
        for (long now = from; lease.isValid(); now = System.nanoTime()) {
            to = now;
            pause(1);
        }
        return new HistoryChecker.Hold("the test", 1, lease.token(), asked, HistoryChecker.NEVER_QUEUED, from, to);
    }

    private static void check(HistoryChecker history) {
        history.check();
        System.out.println(history.size() + " holds of " + CLIENTS
                + " processes: no two at once, and each token larger than the one before");
    }
}
