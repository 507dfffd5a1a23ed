package dev.holdfast.benchmarks.subject;

import dev.holdfast.workload.LockSection;
import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** The JDK's own locks: what a lock costs without a network. */
public final class JvmFloor implements Subject {

    private final boolean fair;
    private final ConcurrentMap<String, Lock> locks = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, ReadWriteLock> readWriteLocks = new ConcurrentHashMap<>();

    public JvmFloor(boolean fair) {
        this.fair = fair;
    }

    @Override
    public Section mutex(String name) {
        return new LockSection(locks.computeIfAbsent(name, ignored -> new ReentrantLock(fair)));
    }

    @Override
    public Section reader(String name) {
        return new LockSection(readWrite(name).readLock());
    }

    @Override
    public Section writer(String name) {
        return new LockSection(readWrite(name).writeLock());
    }

    private ReadWriteLock readWrite(String name) {
        return readWriteLocks.computeIfAbsent(name, ignored -> new ReentrantReadWriteLock(fair));
    }

    @Override
    public void close() {}
}
