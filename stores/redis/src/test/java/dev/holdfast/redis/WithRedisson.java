package dev.holdfast.redis;

import dev.holdfast.redis.config.Layout;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Clients of Redisson for tests, and our store on their locks. */
final class WithRedisson {

    private WithRedisson() {}

    static LockStore store(String url) {
        String more = (url.indexOf('?') < 0 ? "?layout=" : "&layout=") + Layout.REDISSON;
        return new RedisLockStoreProvider().open(url + more, MonotonicClock.SYSTEM);
    }

    /** A client with few threads and connections. Its watchdog renews a lock each third of this time. */
    static RedissonClient client(String url, Duration watchdog) {
        Config config = new Config();
        config.useSingleServer()
                .setAddress(url)
                .setConnectionMinimumIdleSize(1)
                .setConnectionPoolSize(8)
                .setSubscriptionConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(2);
        return client(config, watchdog);
    }

    /** A client of the cluster to which a node belongs. */
    static RedissonClient clusterClient(RedisServer node) {
        Config config = new Config();
        config.useClusterServers()
                .addNodeAddress(node.url())
                .setMasterConnectionMinimumIdleSize(1)
                .setMasterConnectionPoolSize(4)
                .setSlaveConnectionMinimumIdleSize(1)
                .setSlaveConnectionPoolSize(4)
                .setSubscriptionConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(2);
        return client(config, Duration.ofSeconds(30));
    }

    private static RedissonClient client(Config config, Duration watchdog) {
        config.setThreads(4);
        config.setNettyThreads(4);
        config.setLockWatchdogTimeout(watchdog.toMillis());
        return Redisson.create(config);
    }

    /** Runs a task on a thread of its own: a lock of theirs belongs to a thread, and threads of a pool are used again. */
    static CompletableFuture<Void> onNewThread(Runnable task) {
        return CompletableFuture.runAsync(task, run -> {
            Thread thread = new Thread(run);
            thread.setDaemon(true);
            thread.start();
        });
    }

    /**
     * Lets a client of Redisson wait for a lock, and returns when it will not look at the lock again by itself before the
     * holder's lease ends.
     *
     * @param server the one that has the lock
     */
    static CompletableFuture<Void> waiting(RLock lock, RedisServer server) {
        long before = asked(server);
        CompletableFuture<Void> waiter = onNewThread(() -> {
            lock.lock();
            lock.unlock();
        });
        // It asks, subscribes, and asks again.
        StoreTest.awaitUntil(() -> waiter.isDone() || asked(server) >= before + 2);
        return waiter;
    }

    private static long asked(RedisServer server) {
        return server.ask(jedis -> RedisServer.calls(jedis).getOrDefault("pttl", 0L));
    }

    /**
     * Sends an attempt only if it is the first one, or if a hint has come since the last one. Others are answered as busy,
     * so nobody gets a lock by asking again and again.
     */
    static final class OnlyWhenHinted extends ForwardingStore {

        private final AtomicBoolean hinted = new AtomicBoolean(true);
        private final AtomicInteger busy = new AtomicInteger();

        OnlyWhenHinted(LockStore store) {
            super(store);
        }

        /** How many of the attempts that were sent have found the lock busy. */
        int busy() {
            return busy.get();
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            if (!hinted.getAndSet(false)) {
                return CompletableFuture.completedStage(new Attempt.Busy(Duration.ZERO));
            }
            return super.tryAcquire(claim).thenApply(attempt -> {
                if (attempt instanceof Attempt.Busy) {
                    busy.incrementAndGet();
                }
                return attempt;
            });
        }

        @Override
        public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
            return super.watch(name, () -> {
                hinted.set(true);
                mayBeFree.run();
            });
        }
    }
}
