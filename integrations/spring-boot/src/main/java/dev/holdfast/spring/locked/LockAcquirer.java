package dev.holdfast.spring.locked;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockTimeoutException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Takes the lock of a call. */
final class LockAcquirer {

    private LockAcquirer() {}

    /**
     * Waits on the calling thread.
     *
     * @return null if the lock is busy, and the call is to be skipped
     * @throws LockTimeoutException if the lock is busy otherwise
     */
    static @Nullable HeldLock acquire(LockRequest request) throws InterruptedException {
        LockedMethod method = request.method();
        try {
            if (method.needsLease()) {
                return LeaseHold.of(request, lease(request));
            }
            DistributedLock lock = request.lock();
            if (!lock.tryLock(method.maxWait().toNanos(), TimeUnit.NANOSECONDS)) {
                throw new LockTimeoutException(
                        "Lock " + request.shown() + " was not free within " + method.maxWait() + " for " + method
                                + ", which was not run. Nothing is held and nothing waits; state() names the holders");
            }
            return new ThreadHold(lock);
        } catch (LockTimeoutException busy) {
            if (method.skips()) {
                return null;
            }
            throw busy;
        }
    }

    private static Lease lease(LockRequest request) throws InterruptedException {
        LockedMethod method = request.method();
        return method.isSemaphore()
                ? request.semaphore().acquire(method.permits(), method.maxWait())
                : request.lock().acquire(method.maxWait());
    }

    /** Waits without a thread. The future fails with {@link LockTimeoutException} if the lock is busy. */
    static CompletableFuture<Lease> acquireAsync(LockRequest request) {
        LockedMethod method = request.method();
        return method.isSemaphore()
                ? request.semaphore().acquireAsync(method.permits(), method.maxWait())
                : request.lock().acquireAsync(method.maxWait());
    }

    /** For a method that does not declare interrupts: the thread's flag is set again. */
    static LockException interrupted(LockRequest request, InterruptedException interrupt) {
        Thread.currentThread().interrupt();
        return new LockException(
                "The thread was interrupted while it waited for lock " + request.shown() + " of " + request.method()
                        + ", which was not run",
                interrupt);
    }
}
