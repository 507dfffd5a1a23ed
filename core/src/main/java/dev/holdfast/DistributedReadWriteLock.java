package dev.holdfast;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * A pair of locks of one name: many may hold the read lock at once, and while one holds the write lock, nobody else
 * holds either of the two. Readers that arrive after a waiting writer wait behind it, so that writers are not
 * starved.
 *
 * <p>A thread that holds the write lock may take the read lock too and then give up the write lock: a downgrade, in
 * one round trip, and no other thread can get the write lock in between. The thread keeps its token. The opposite,
 * an upgrade, is refused with a {@link LockException}, because two readers that upgrade would wait for each other
 * for ever.
 */
public interface DistributedReadWriteLock extends ReadWriteLock {

    /** The name of the lock. */
    String name();

    @Override
    DistributedLock readLock();

    @Override
    DistributedLock writeLock();
}
