package dev.holdfast.internal;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.LockOptions;

/** The two halves of a read-write lock. */
public record ReadWriteLocks(String name, DistributedLock readLock, DistributedLock writeLock)
        implements DistributedReadWriteLock {

    public static ReadWriteLocks of(Engine engine, String name, LockOptions options) {
        return new ReadWriteLocks(
                name, ThreadLock.read(engine, name, options), ThreadLock.write(engine, name, options));
    }
}
