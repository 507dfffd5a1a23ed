package dev.holdfast.spring.locked;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Holdfast;
import dev.holdfast.LockOptions;
import java.util.HashSet;
import java.util.List;

/**
 * What one call needs.
 *
 * @param locks the client
 * @param method how the method is locked
 * @param names the names, for this call's arguments
 */
record LockRequest(Holdfast locks, LockedMethod method, List<String> names) {

    // A lease may outlast its method, so that the thread is interrupted by LossInterrupt and not by the lease.
    private LockOptions options() {
        return method.needsLease() ? method.options().withInterruptOnLoss(false) : method.options();
    }

    /** The lock; not for a semaphore. */
    DistributedLock lock() {
        if (names.size() > 1) {
            return locks.multiLock(names, options());
        }
        return switch (method.kind()) {
            case MUTEX -> locks.lock(names.get(0), options());
            case READ -> readWriteLock().readLock();
            case WRITE -> readWriteLock().writeLock();
        };
    }

    DistributedSemaphore semaphore() {
        return locks.semaphore(names.get(0), method.of(), options());
    }

    /** Whether a call that has this lock keeps out everybody whom the other one would keep out. */
    boolean covers(LockRequest other) {
        if (locks != other.locks || method.isSemaphore() || other.method.isSemaphore()) {
            return false;
        }
        LockKind mine = method.kind();
        LockKind others = other.method.kind();
        boolean asStrong = mine == others || (mine == LockKind.WRITE && others == LockKind.READ);
        return asStrong && new HashSet<>(names).containsAll(other.names);
    }

    private DistributedReadWriteLock readWriteLock() {
        return locks.readWriteLock(names.get(0), options());
    }

    /** {@code "order:1"} or {@code "a", "b"}, for messages. */
    String shown() {
        return "\"" + String.join("\", \"", names) + "\"";
    }
}
