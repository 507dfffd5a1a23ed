package dev.holdfast.benchmarks.subject;

import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's recipes, one object for each name and client, as its documentation advises: {@code curator} (InterProcessMutex
 * and InterProcessReadWriteLock) and {@code curator-semaphore} (InterProcessSemaphoreV2 of one lease).
 */
public final class CuratorSubject implements Subject {

    private final CuratorFramework client;
    private final boolean semaphore;
    private final ConcurrentMap<String, InterProcessMutex> mutexes = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, InterProcessReadWriteLock> readWriteLocks = new ConcurrentHashMap<>();

    public CuratorSubject(String address, Duration lease, boolean semaphore) throws InterruptedException {
        this.semaphore = semaphore;
        client = CuratorFrameworkFactory.builder()
                .connectString(address)
                .sessionTimeoutMs((int) lease.toMillis())
                .retryPolicy(new ExponentialBackoffRetry(1000, 3))
                .build();
        client.start();
        if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("ZooKeeper does not answer at " + address);
        }
    }

    private static String path(String name) {
        return "/bench/" + name;
    }

    @Override
    public Section mutex(String name) {
        return semaphore
                ? permit(name)
                : section(mutexes.computeIfAbsent(path(name), path -> new InterProcessMutex(client, path)));
    }

    private static Section section(InterProcessLock lock) {
        return new Section() {
            @Override
            public void enter() throws Exception {
                lock.acquire();
            }

            @Override
            public void leave() throws Exception {
                lock.release();
            }
        };
    }

    private Section permit(String name) {
        InterProcessSemaphoreV2 one = new InterProcessSemaphoreV2(client, path(name + "-permits"), 1);
        Lease[] held = new Lease[1];
        return new Section() {
            @Override
            public void enter() throws Exception {
                held[0] = one.acquire();
            }

            @Override
            public void leave() {
                one.returnLease(held[0]);
            }
        };
    }

    @Override
    public Section reader(String name) {
        return section(readWrite(name).readLock());
    }

    @Override
    public Section writer(String name) {
        return section(readWrite(name).writeLock());
    }

    private InterProcessReadWriteLock readWrite(String name) {
        return readWriteLocks.computeIfAbsent(path(name), path -> new InterProcessReadWriteLock(client, path));
    }

    @Override
    public void close() {
        client.close();
    }
}
