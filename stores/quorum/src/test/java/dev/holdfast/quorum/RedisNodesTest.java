package dev.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.redis.RedisLockStoreProvider;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Three real Redis servers as one store. */
class RedisNodesTest extends StoreTest {

    private static final Duration LEASE = Duration.ofMinutes(10);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final int TRIES = 5;

    private final List<RedisServer> servers =
            List.of(closing(RedisServer.start()), closing(RedisServer.start()), closing(RedisServer.start()));
    private final Claimant carol = new Claimant("carol", LEASE);
    private final Claimant dave = new Claimant("dave", LEASE);

    private QuorumLockStore open(boolean newNodes) {
        List<LockStore> stores = servers.stream()
                .map(server -> new RedisLockStoreProvider().open(server.url(), MonotonicClock.SYSTEM))
                .toList();
        return closing(QuorumLockStore.over(stores, new QuorumOptions(LEASE, TIMEOUT, newNodes)));
    }

    @Test
    void engineLocksOverThreeServers() throws InterruptedException {
        QuorumLockStore store = open(true);
        try (Holdfast one = Holdfast.over(store);
                Holdfast other = Holdfast.over(store)) {
            DistributedLock lock = one.lock(name.value());
            long token;
            try (Lease lease = lock.acquire()) {
                token = lease.token();
                assertThat(other.lock(name.value()).tryLock()).isFalse();
            }
            try (Lease lease = other.lock(name.value()).acquire()) {
                assertThat(lease.token()).isGreaterThan(token);
            }
        }
    }

    /** With clocks that agree, all nodes give the counter that was asked for, so that no second round is needed. */
    @Test
    void nodesAgreeOnTheCounter() {
        QuorumLockStore store = open(true);
        for (int i = 0; ; i++) {
            LockName fresh = new LockName(name.value() + i);
            long start = System.nanoTime();
            long counter = granted(store, carol.mutex(fresh)).counter();
            List<String> counters = countersOf(fresh);
            boolean inTime = System.nanoTime() - start < NodeAttempt.CLOCK_TOLERANCE.toNanos();
            // A machine that stood still meanwhile made the wish too old for a server, and the test begins anew.
            if (inTime || i == TRIES) {
                assertThat(counters).containsOnly(Long.toString(counter));
                return;
            }
        }
    }

    // The third node may answer a little after the majority.
    private List<String> countersOf(LockName lock) {
        String key = "holdfast:{" + lock + "}";
        awaitUntil(() -> servers.stream().allMatch(server -> server.ask(jedis -> jedis.hexists(key, "counter"))));
        return servers.stream()
                .map(server -> server.ask(jedis -> jedis.hget(key, "counter")))
                .toList();
    }

    @Test
    void oneServerIsKilledWhileTheLockIsHeld() {
        QuorumLockStore store = open(true);
        granted(store, carol.mutex(new LockName(name.value() + "-other")));
        Claim claim = carol.mutex(name);
        long token = granted(store, claim).counter();
        servers.get(1).kill();
        busy(store, dave.mutex(name));
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        assertThat(released(store, claim)).isTrue();
        Claim next = dave.mutex(name);
        assertThat(granted(store, next).counter()).isGreaterThan(token);
        assertThat(released(store, next)).isTrue();
    }

    /** The server comes back without data: its grant would be the second one of a majority. */
    @Test
    void serverThatWasRestartedEmptyDoesNotHelpToGrantALockThatIsHeld() {
        QuorumLockStore store = open(true);
        servers.get(2).kill();
        Claim claim = carol.mutex(name);
        granted(store, claim);
        servers.get(1).kill();
        servers.get(1).startAgain();
        servers.get(2).startAgain();
        QuorumLockStore another = open(false);
        awaitUntil(() -> {
            try {
                assertThat(get(another.tryAcquire(dave.mutex(name)))).isNotInstanceOf(Granted.class);
                return true;
            } catch (StoreException notEnoughNodes) {
                return String.valueOf(notEnoughNodes.getMessage()).contains("may have lost data");
            }
        });
        assertThat(get(another.renew(List.of(claim)))).noneMatch(Granted.class::isInstance);
    }
}
