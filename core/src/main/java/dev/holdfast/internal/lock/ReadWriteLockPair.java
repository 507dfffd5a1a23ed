package dev.holdfast.internal.lock;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.LockOptions;
import dev.holdfast.internal.Engine;

/** The two halves of a read-write lock. */
public record ReadWriteLockPair(String name, DistributedLock readLock, DistributedLock writeLock)
        implements DistributedReadWriteLock {

    public static ReadWriteLockPair of(Engine engine, String name, LockOptions options) {
        return new ReadWriteLockPair(
                name,
                ReentrantDistributedLock.read(engine, name, options),
                ReentrantDistributedLock.write(engine, name, options));
    }
}
