package dev.holdfast.zookeeper;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/**
 * Measures the store and Curator on a server of its own that syncs its log. This is a program and not a test.
 * {@code pair [DELAY_MS]} measures acquire and release of a free lock, compared with plain requests (create and list
 * pipelined, then delete), Curator's mutex and Curator's semaphore. If a delay is given, a proxy adds it in each
 * direction. {@code wake [DELAY_MS]} measures the time from the release by one client to the grant of another.
 * {@code threads N} runs N threads of one JVM on one lock for two seconds.
 */
final class ZooKeeperFigures {

    private static final Claimant ME = new Claimant("me", Duration.ofSeconds(30));
    private static final int ROUNDS = 5;

    private ZooKeeperFigures() {}

    private interface Action {
        void run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        try (OneServer server = OneServer.syncing();
                Proxy proxy = new Proxy(server.hosts())) {
            int number = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 0;
            proxy.delay(Duration.ofMillis(number));
            boolean delayed = !arguments[0].equals("threads") && number > 0;
            String hosts = delayed ? proxy.hosts() : server.hosts();
            switch (arguments[0]) {
                case "pair" -> pair(hosts, delayed ? 60 : 1_000);
                case "wake" -> wake(hosts, delayed ? 30 : 100, delayed ? 60 : 10);
                case "threads" -> threads(hosts, number);
                default -> throw new IllegalArgumentException(arguments[0]);
            }
        }
        System.exit(0);
    }

    private static void pair(String hosts, int times) throws Exception {
        try (LockStore store = open(hosts);
                CuratorFramework client = Clients.started(hosts)) {
            Action bare = bare(client);
            LockName name = new LockName("figures");
            Action ours = () -> ours(store, ME.mutex(name));
            InterProcessMutex mutex = new InterProcessMutex(client, "/figures-mutex");
            Action curator = () -> {
                mutex.acquire();
                mutex.release();
            };
            LockName permits = new LockName("figures-permits");
            Action ourPermit = () -> ours(store, ME.claim(permits, 1, 3));
            InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, "/figures-semaphore", 3);
            Action theirPermit = () -> semaphore.returnLease(semaphore.acquire());
            double[][] medians = new double[5][ROUNDS];
            for (int round = -1; round < ROUNDS; round++) {
                int i = 0;
                for (Action action : List.of(bare, ours, curator, ourPermit, theirPermit)) {
                    double median = median(action, times);
                    if (round >= 0) {
                        medians[i++][round] = median;
                    }
                }
            }
            double[] middle =
                    Arrays.stream(medians).mapToDouble(ZooKeeperFigures::middle).toArray();
            System.out.printf(
                    "acquire + release, median us: bare %.0f, holdfast %.0f (%.2f of bare), Curator mutex %.0f (holdfast %.2f of"
                            + " it)%n",
                    middle[0], middle[1], middle[1] / middle[0], middle[2], middle[1] / middle[2]);
            System.out.printf(
                    "a permit of 3: holdfast %.0f, Curator semaphore %.0f (holdfast %.2f of it)%n",
                    middle[3], middle[4], middle[3] / middle[4]);
        }
    }

    private static void ours(LockStore store, Claim claim) {
        if (!(store.tryAcquire(claim).toCompletableFuture().join() instanceof Granted)
                || !store.release(claim).toCompletableFuture().join().wasOwner()) {
            throw new IllegalStateException("somebody else uses " + claim.name());
        }
    }

    // The minimum for a lock in ZooKeeper: a create and a list, sent back to back, and a delete.
    private static Action bare(CuratorFramework client) throws Exception {
        ZooKeeper raw = client.getZookeeperClient().getZooKeeper();
        byte[] data = "somebody".getBytes(StandardCharsets.UTF_8);
        raw.create("/figures-bare", data, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        return () -> {
            CompletableFuture<String> made = new CompletableFuture<>();
            CompletableFuture<List<String>> list = new CompletableFuture<>();
            raw.create(
                    "/figures-bare/_c_id-lock-",
                    data,
                    ZooDefs.Ids.OPEN_ACL_UNSAFE,
                    CreateMode.EPHEMERAL_SEQUENTIAL,
                    (code, path, context, name, stat) -> made.complete(name),
                    null);
            raw.getChildren(
                    "/figures-bare",
                    false,
                    (int code, String path, Object context, List<String> children) -> list.complete(children),
                    null);
            list.join();
            CompletableFuture<Integer> deleted = new CompletableFuture<>();
            raw.delete(made.join(), -1, (code, path, context) -> deleted.complete(code), null);
            deleted.join();
        };
    }

    private static void wake(String hosts, int times, int settleMillis) throws Exception {
        LockName name = new LockName("figures");
        try (LockStore store = open(hosts);
                LockStore other = open(hosts);
                CuratorFramework client = Clients.started(hosts);
                CuratorFramework otherClient = Clients.started(hosts)) {
            double[] ours = new double[ROUNDS];
            double[] theirs = new double[ROUNDS];
            for (int round = -1; round < ROUNDS; round++) {
                long[] one = new long[times];
                long[] two = new long[times];
                for (int i = 0; i < times; i++) {
                    one[i] = wakeOurs(store, other, name, settleMillis);
                    two[i] = wakeTheirs(client, otherClient, settleMillis);
                }
                if (round >= 0) {
                    ours[round] = middle(one);
                    theirs[round] = middle(two);
                }
            }
            System.out.printf(
                    "from release to grant elsewhere, median us: holdfast %.0f, Curator %.0f, holdfast %.2f of it%n",
                    middle(ours), middle(theirs), middle(ours) / middle(theirs));
        }
    }

    private static long wakeOurs(LockStore store, LockStore other, LockName name, int settleMillis) throws Exception {
        Claim holder = ME.mutex(name);
        store.tryAcquire(holder).toCompletableFuture().join();
        Claim waiter = ME.mutex(name);
        CompletableFuture<Long> granted = new CompletableFuture<>();
        other.enqueue(waiter, new GrantTime(granted));
        LockSupport.parkNanos(settleMillis * 1_000_000L);
        long start = System.nanoTime();
        store.release(holder);
        long took = granted.get() - start;
        other.release(waiter).toCompletableFuture().join();
        return took;
    }

    private record GrantTime(CompletableFuture<Long> time) implements ClaimListener {

        @Override
        public void waiting(int position, Duration retryAfter) {}

        @Override
        public void granted(Granted granted) {
            time.complete(System.nanoTime());
        }

        @Override
        public void ended(Renewed.Reason reason) {
            time.completeExceptionally(new IllegalStateException("ended: " + reason));
        }

        @Override
        public void failed(StoreException cause) {
            time.completeExceptionally(cause);
        }
    }

    private static long wakeTheirs(CuratorFramework client, CuratorFramework otherClient, int settleMillis)
            throws Exception {
        InterProcessMutex holder = new InterProcessMutex(client, "/figures-wake");
        InterProcessMutex waiter = new InterProcessMutex(otherClient, "/figures-wake");
        holder.acquire();
        CompletableFuture<Long> granted = new CompletableFuture<>();
        CountDownLatch done = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            try {
                waiter.acquire();
                granted.complete(System.nanoTime());
                waiter.release();
                done.countDown();
            } catch (Exception failure) {
                granted.completeExceptionally(failure);
            }
        });
        thread.start();
        LockSupport.parkNanos(settleMillis * 1_000_000L);
        long start = System.nanoTime();
        holder.release();
        long took = granted.get() - start;
        done.await();
        return took;
    }

    private static void threads(String hosts, int count) throws Exception {
        try (CuratorFramework client = Clients.started(hosts);
                Holdfast locks = Holdfast.over(open(hosts))) {
            for (int round = 0; round < 3; round++) {
                DistributedLock ours = locks.lock("figures");
                double mine = together(count, () -> {
                    ours.lock();
                    ours.unlock();
                });
                InterProcessMutex mutex = new InterProcessMutex(client, "/figures-threads");
                double theirs = together(count, () -> {
                    mutex.acquire();
                    mutex.release();
                });
                System.out.printf(
                        "%d threads on one lock, acquisitions a second: holdfast %.0f, Curator %.0f, %.0f times%n",
                        count, mine, theirs, mine / theirs);
            }
        }
    }

    private static double together(int count, Action action) throws Exception {
        long end = System.nanoTime() + Duration.ofSeconds(2).toNanos();
        long start = System.nanoTime();
        List<CompletableFuture<Integer>> done = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            CompletableFuture<Integer> result = new CompletableFuture<>();
            done.add(result);
            new Thread(() -> {
                        int times = 0;
                        try {
                            for (; System.nanoTime() - end < 0; times++) {
                                action.run();
                            }
                            result.complete(times);
                        } catch (Exception failure) {
                            result.completeExceptionally(failure);
                        }
                    })
                    .start();
        }
        long sum = 0;
        for (CompletableFuture<Integer> one : done) {
            sum += one.get();
        }
        return sum * 1e9 / (System.nanoTime() - start);
    }

    private static LockStore open(String hosts) {
        return new ZooKeeperLockStoreProvider().open("zookeeper://" + hosts, MonotonicClock.SYSTEM);
    }

    private static double median(Action action, int times) throws Exception {
        long[] nanos = new long[times];
        for (int i = 0; i < times; i++) {
            long start = System.nanoTime();
            action.run();
            nanos[i] = System.nanoTime() - start;
        }
        return middle(nanos);
    }

    private static double middle(long[] nanos) {
        Arrays.sort(nanos);
        return nanos[nanos.length / 2] / 1e3;
    }

    private static double middle(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
