package dev.holdfast.spring.locked;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import org.jspecify.annotations.Nullable;

/** A lock that the calling thread holds, with re-entry. */
record ThreadHold(DistributedLock lock) implements HeldLock {

    @Override
    public @Nullable Lease lease() {
        return null;
    }

    @Override
    public @Nullable LockLostException loss() {
        if (lock.isHeldByCurrentThread() || lock.holdCount() == 0) {
            return null;
        }
        try {
            lock.lock(); // a re-entry: needs no trip, and says why the lock was lost
            try {
                return null;
            } finally {
                lock.unlock();
            }
        } catch (LockLostException lost) {
            return lost;
        }
    }

    /** The lock itself lets the thread re-enter. */
    @Override
    public boolean covers(LockRequest request) {
        return false;
    }

    @Override
    public void release() {
        lock.unlock();
    }
}
