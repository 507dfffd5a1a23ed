package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.redis.jedis.JedisPorts;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.HistoryChecker;
import dev.holdfast.testkit.StoreTest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * A cluster of Redis 6.2, which has no channels of a slot. A message on a plain channel is heard at every node, and a
 * subscription stays where it was made when the slot moves. So a waiter whose subscription was left behind hears what
 * the new primary publishes, although that one counts no subscriber.
 */
class OldClusterTest extends StoreTest {

    private static final String WITHOUT_REFRESHES = "?ticketTtl=1m";

    private static final Duration TICKET = Duration.ofSeconds(1);

    private static RedisCluster cluster;

    private volatile boolean failingOver;
    private final int slot = HashSlot.of(name.value().getBytes(StandardCharsets.UTF_8));

    @BeforeAll
    static void startTheCluster() {
        cluster = RedisCluster.startOld();
    }

    @AfterAll
    static void stopTheCluster() {
        cluster.close();
    }

    private LockStore connected() {
        return closing(new RedisLockStoreProvider().open(cluster.url() + WITHOUT_REFRESHES, MonotonicClock.SYSTEM));
    }

    @Test
    void waiterWhoseSlotHasMovedIsNotGrantedWhatAnotherOneIs() {
        List<RedisServer> ends = cluster.ownerAndAnother(slot);
        RedisServer to = ends.get(1);
        DisplacedWaiter waiter = new DisplacedWaiter(alice, bob, name, connected(), connected());
        waiter.begin(ends.get(0));
        RedisCluster.moveSlot(slot, ends.get(0), to);
        waiter.isSubscribedOnlyAt(ends.get(0), to);
        LockStore moved = connected();
        waiter.isNotGrantedWhatAnotherOneIs(moved, to);
        waiter.followsThePrimary(moved, to);
    }

    /** The waiter subscribes by the table of slots from before, at the node that is a replica now. */
    @Test
    void waiterAtAReplicaIsNotGrantedWhatAnotherOneIs() {
        RedisServer former = cluster.ownerAndAnother(slot).get(0);
        RedisPort outdated = closing(JedisPorts.open(RedisUrl.parse(cluster.url()), MonotonicClock.SYSTEM));
        get(outdated.slots());
        RedisPort asking = JedisPorts.open(RedisUrl.parse(cluster.url()), MonotonicClock.SYSTEM);
        LockStore waiting = closing(RedisLockStore.over(
                DisplacedWaiter.port(outdated, asking), WITHOUT_REFRESHES.substring(1), MonotonicClock.SYSTEM));
        DisplacedWaiter waiter = new DisplacedWaiter(alice, bob, name, waiting, connected());
        RedisServer promoted = cluster.failOver(slot);
        waiter.begin(promoted);
        waiter.isSubscribedOnlyAt(former, promoted);
        LockStore moved = connected();
        waiter.isNotGrantedWhatAnotherOneIs(moved, promoted);
        waiter.followsThePrimary(moved, promoted);
    }

    /** Many hand-overs, at any moment of a move. Every client gets on after each one. */
    @Test
    void clientsTakeTurnsWhileTheSlotMovesAndPrimariesChange() throws InterruptedException {
        HistoryChecker history = new HistoryChecker(1);
        List<TurnTaker> clients = List.of(new TurnTaker(history), new TurnTaker(history), new TurnTaker(history));
        List<Thread> threads = clients.stream().map(Thread::new).toList();
        threads.forEach(Thread::start);
        for (int i = 0; i < 3; i++) {
            awaitTurns(clients);
            List<RedisServer> ends = cluster.ownerAndAnother(slot);
            RedisCluster.moveSlot(slot, ends.get(0), ends.get(1));
            awaitTurns(clients);
            // Who holds the lock keeps it, so that the next hand-over is the first one at the new primary.
            failingOver = true;
            cluster.failOver(slot);
            failingOver = false;
        }
        awaitTurns(clients);
        clients.forEach(client -> client.ending = true);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(clients).allSatisfy(client -> assertThat(client.failures).isEmpty());
        history.check();
    }

    private static void awaitTurns(List<TurnTaker> clients) {
        List<Integer> before =
                clients.stream().map(client -> client.turns.get()).toList();
        for (int i = 0; i < clients.size(); i++) {
            TurnTaker client = clients.get(i);
            int enough = before.get(i) + 3;
            awaitUntil(() -> client.turns.get() >= enough || !client.failures.isEmpty());
        }
    }

    /** A client that takes the lock again and again. */
    private final class TurnTaker implements Runnable {

        private final Holdfast locks =
                closing(Holdfast.connect(cluster.url() + "?ticketTtl=" + TICKET.toMillis() + "ms"));
        private final HistoryChecker history;
        private final AtomicInteger turns = new AtomicInteger();
        private final List<Throwable> failures = new ArrayList<>();
        private volatile boolean ending;

        private TurnTaker(HistoryChecker history) {
            this.history = history;
        }

        @Override
        public void run() {
            try {
                while (!ending) {
                    takeTurn();
                }
            } catch (RuntimeException | InterruptedException failure) {
                failures.add(failure);
            }
        }

        private void takeTurn() throws InterruptedException {
            long asked = System.nanoTime();
            // A lease that is no longer than a ticket is used as it was pushed, without another request.
            LockOptions options = LockOptions.defaults().withFixedLease(TICKET);
            Lease lease = locks.lock(name.value(), options).acquire();
            long from = System.nanoTime();
            // The hold lasts for a trip, so that two of them would overlap.
            awaitUntil(() -> isSeen() && !failingOver);
            long to = System.nanoTime();
            if (lease.isValid()) {
                history.add(new HistoryChecker.Hold(
                        toString(), 1, lease.token(), asked, HistoryChecker.NEVER_QUEUED, from, to));
                turns.incrementAndGet();
            }
            try {
                lease.close();
            } catch (LockLostException tooLate) {
                // A fail-over may take longer than the lease; then the hold does not count.
                return;
            }
        }

        // A server that fails over does not answer for a while.
        private boolean isSeen() {
            try {
                locks.state(name.value());
                return true;
            } catch (StoreUnavailableException notYet) {
                return false;
            }
        }
    }
}
