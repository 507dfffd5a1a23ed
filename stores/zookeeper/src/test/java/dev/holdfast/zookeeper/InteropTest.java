package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.Holdfast;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.RecordingListener;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Curator's recipes and this store on the same path at the same time. */
class InteropTest extends WithServer {

    private static final int ROUNDS = 60;

    private final String path = "/locks/" + name;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger readers = new AtomicInteger();
    private int unguarded;

    @AfterEach
    void stopTheThreads() {
        threads.shutdownNow();
    }

    @Test
    void mutexesOfBothKindsExcludeEachOther() throws Exception {
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            InterProcessMutex theirs = new InterProcessMutex(curator(), path);
            tasks.add(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    theirs.acquire();
                    alone();
                    theirs.release();
                }
                return null;
            });
            DistributedLock ours = holdfast().lock(name.value());
            tasks.add(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    ours.lock();
                    alone();
                    ours.unlock();
                }
                return null;
            });
        }
        runAll(tasks);
        assertThat(unguarded).isEqualTo(4 * ROUNDS);
    }

    @Test
    void readWriteLocksOfBothKindsExcludeEachOther() throws Exception {
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            InterProcessReadWriteLock theirs = new InterProcessReadWriteLock(curator(), path);
            DistributedReadWriteLock ours = holdfast().readWriteLock(name.value());
            tasks.add(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    boolean write = round % 3 == 0;
                    InterProcessLock lock = write ? theirs.writeLock() : theirs.readLock();
                    lock.acquire();
                    writeOrRead(write);
                    lock.release();
                }
                return null;
            });
            tasks.add(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    boolean write = round % 3 == 1;
                    DistributedLock lock = write ? ours.writeLock() : ours.readLock();
                    lock.lock();
                    writeOrRead(write);
                    lock.unlock();
                }
                return null;
            });
        }
        runAll(tasks);
        assertThat(unguarded).isEqualTo(4 * ROUNDS / 3);
    }

    @Test
    void bothKindsQueueInTheOrderOfArrival() throws Exception {
        LockStore store = store();
        InterProcessMutex first = new InterProcessMutex(curator(), path);
        first.acquire();
        Claim ours = alice.mutex(name);
        RecordingListener listener = waiting(store, ours);
        InterProcessMutex third = new InterProcessMutex(curator(), path);
        Future<Boolean> thirdHas = threads.submit(() -> third.acquire(20, TimeUnit.SECONDS));
        awaitUntil(() -> get(store.inspect(name)).orElseThrow().waiters().size() == 2);
        busy(store, bob.mutex(name));
        first.release();
        awaitGrant(listener);
        assertThat(thirdHas.isDone()).isFalse();
        assertThat(released(store, ours)).isTrue();
        assertThat(thirdHas.get()).isTrue();
        busy(store, bob.mutex(name));
    }

    @Test
    void locksOfCuratorAreReportedAndCanBeBroken() throws Exception {
        LockStore store = store();
        InterProcessMutex theirs = new InterProcessMutex(curator(), path);
        theirs.acquire();
        List<Claim> holders = holders(store, name);
        assertThat(holders).hasSize(1);
        assertThat(holders.get(0).limit()).isEqualTo(1);
        assertThat(released(store, holders.get(0).again())).isTrue();
        granted(store, alice.mutex(name));
    }

    @Test
    void otherKindThanCuratorsIsRefused() throws Exception {
        LockStore store = store();
        InterProcessReadWriteLock theirs = new InterProcessReadWriteLock(curator(), path);
        theirs.readLock().acquire();
        assertThat(failure(store.tryAcquire(alice.mutex(name)))).isInstanceOf(KindConflictException.class);
        granted(store, alice.read(name));
        busy(store, alice.write(name));
        theirs.readLock().release();
    }

    @Test
    void pathOfCuratorsSemaphoreIsRefusedByName() throws Exception {
        InterProcessSemaphoreV2 theirs = new InterProcessSemaphoreV2(curator(), path, 1);
        Lease lease = theirs.acquire();
        assertRefused("InterProcessSemaphoreV2");
        theirs.returnLease(lease);
    }

    @Test
    void pathOfCuratorsLeaderLatchIsRefusedByName() throws Exception {
        try (LeaderLatch theirs = new LeaderLatch(curator(), path)) {
            theirs.start();
            theirs.await();
            assertRefused("LeaderLatch");
        }
    }

    /** Only a claim that asks for the name is refused: who holds it already keeps it, also through a repeat and a downgrade. */
    @Test
    void nodeOfAnotherRecipeThatComesLaterEndsNoClaim() throws Exception {
        LockStore store = store();
        Claim writer = alice.write(name);
        long counter = granted(store, writer).counter();
        curator().create().forPath(path + "/leases");
        assertThat(granted(store, writer.again()).counter()).isEqualTo(counter);
        assertThat(granted(store, writer.withPermits(1).again()).counter()).isEqualTo(counter);
        assertThat(renewed(store, writer.withPermits(1))).isInstanceOf(Granted.class);
        assertNamed("InterProcessSemaphoreV2", failure(store.tryAcquire(bob.read(name))));
    }

    private void assertRefused(String recipe) throws Exception {
        LockStore store = store();
        CuratorFramework observer = curator();
        int before = observer.getChildren().forPath(path).size();
        for (Claim claim :
                List.of(alice.mutex(name), alice.claim(name, 1, 1), alice.claim(name, 1, 2), alice.read(name))) {
            assertNamed(recipe, failure(store.tryAcquire(claim)));
        }
        assertNamed(
                recipe,
                failure(store.tryAcquireAll(List.of(alice.mutex(name), alice.mutex(new LockName(name + "-free"))))));
        RecordingListener waiter = enqueued(store, alice.mutex(name));
        awaitUntil(() -> waiter.outcome().isPresent());
        assertNamed(
                recipe,
                waiter.first(RecordingListener.Event.Failed.class).orElseThrow().cause());
        awaitUntil(() -> {
            try {
                return observer.getChildren().forPath(path).size() == before;
            } catch (Exception failure) {
                throw new AssertionError(failure);
            }
        });
    }

    private void assertNamed(String recipe, StoreException refused) {
        assertThat(refused).hasMessageContaining(recipe).hasMessageContaining(path);
        assertThat(refused.retryable()).isFalse();
        assertThat(refused.effect()).isEqualTo(StoreException.Effect.NONE);
    }

    /** A LeaderSelector is an InterProcessMutex, and so takes part. */
    @Test
    void leaderSelectorOfCuratorExcludesOurMutex() throws Exception {
        LockStore store = store();
        CountDownLatch leads = new CountDownLatch(1);
        CountDownLatch resigns = new CountDownLatch(1);
        try (LeaderSelector theirs = new LeaderSelector(curator(), path, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws Exception {
                leads.countDown();
                resigns.await();
            }
        })) {
            theirs.start();
            assertThat(leads.await(20, TimeUnit.SECONDS)).isTrue();
            RecordingListener waiter = waiting(store, alice.mutex(name));
            busy(store, bob.mutex(name));
            resigns.countDown();
            awaitGrant(waiter);
        }
    }

    @Test
    void downgradeByCuratorAdmitsOurReaders() throws Exception {
        LockStore store = store();
        InterProcessReadWriteLock theirs = new InterProcessReadWriteLock(curator(), path);
        theirs.writeLock().acquire();
        RecordingListener reader = waiting(store, alice.read(name));
        theirs.readLock().acquire();
        theirs.writeLock().release();
        awaitGrant(reader);
        busy(store, bob.write(name));
        theirs.readLock().release();
    }

    /** CURATOR-621: a reader that arrives after a downgrade does not overtake a waiting writer. */
    @Test
    void curator621ReaderAfterADowngradeWaitsBehindTheQueuedWriter() throws Exception {
        LockStore store = store();
        Claim writer = alice.write(name);
        granted(store, writer);
        InterProcessReadWriteLock theirs = new InterProcessReadWriteLock(curator(), path);
        Future<Boolean> theirWrite = threads.submit(() -> theirs.writeLock().acquire(20, TimeUnit.SECONDS));
        awaitUntil(() -> get(store.inspect(name)).orElseThrow().waiters().size() == 1);
        granted(store, writer.withPermits(1));
        busy(store, bob.read(name));
        assertThat(theirWrite.isDone()).isFalse();
        released(store, writer);
        assertThat(theirWrite.get()).isTrue();
    }

    private Holdfast holdfast() {
        return closing(Holdfast.over(store()));
    }

    private LockStore store() {
        CuratorFramework client = curator();
        return closing(ZooKeeperLockStore.over(client, "root=/locks"));
    }

    private void alone() {
        assertThat(inside.incrementAndGet()).isEqualTo(1);
        unguarded++;
        inside.decrementAndGet();
    }

    private void writeOrRead(boolean write) {
        if (write) {
            alone();
            assertThat(readers.get()).isZero();
        } else {
            readers.incrementAndGet();
            assertThat(inside.get()).isZero();
            readers.decrementAndGet();
        }
    }

    private void runAll(List<Callable<Void>> tasks) throws Exception {
        List<Future<Void>> running = new ArrayList<>();
        tasks.forEach(task -> running.add(threads.submit(task)));
        for (Future<Void> one : running) {
            one.get(60, TimeUnit.SECONDS);
        }
    }
}
