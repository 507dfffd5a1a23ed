package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.Holdfast;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.RecordingListener;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
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
