package dev.holdfast;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * A pair of locks of one name: many may hold the read lock at once, and nobody else holds anything while one holds the
 * write lock. Readers that come after a waiting writer wait behind it, so that writers are not starved.
 *
 * <p>A thread that holds the write lock may take the read lock too and then give up the write lock: a downgrade, in one
 * trip, without letting anybody in between. It keeps its token. The other way, an upgrade, is refused with a {@link
 * LockException}, because two readers that upgrade would wait for each other for ever.
 */
public interface DistributedReadWriteLock extends ReadWriteLock {

    /** The name. */
    String name();

    @Override
    DistributedLock readLock();

    @Override
    DistributedLock writeLock();
}
