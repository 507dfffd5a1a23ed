package dev.holdfast;

import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A number of permits that the threads of all processes share. Permits are held as {@link Lease}s: the permits of a
 * process that died become free when their lease is over.
 *
 * <p>Waiters are served in the order of arrival: a large request is not passed over by small ones. Objects are
 * cheap and thread-safe. A number of permits that is not 1 to {@link #limit()} is refused with {@link
 * IllegalArgumentException} before anything is sent. All methods that acquire throw {@link
 * StoreUnavailableException} and {@link LockConflictException} like those of {@link DistributedLock}.
 */
public interface DistributedSemaphore {

    /** The name of the semaphore. */
    String name();

    /** How many permits there are in all. */
    int limit();

    /** Waits for one permit. */
    default Lease acquire() throws InterruptedException {
        return acquire(1);
    }

    /** Waits for several permits at once. */
    Lease acquire(int permits) throws InterruptedException;

    /** Like {@link #acquire(int, Duration)}, for one permit. */
    default Lease acquire(Duration maxWait) throws InterruptedException {
        return acquire(1, maxWait);
    }

    /**
     * Waits for several permits at once, for a limited time.
     *
     * @throws LockTimeoutException if they were not free in time
     */
    Lease acquire(int permits, Duration maxWait) throws InterruptedException;

    /** Takes one permit if it is free now. */
    default Optional<Lease> tryAcquire() {
        return tryAcquire(1);
    }

    /** Takes several permits if they are free now, with one round trip to the store. */
    Optional<Lease> tryAcquire(int permits);

    /** Like {@link #tryAcquire(int, Duration)}, for one permit. */
    default Optional<Lease> tryAcquire(Duration maxWait) throws InterruptedException {
        return tryAcquire(1, maxWait);
    }

    /**
     * Like {@link #acquire(int, Duration)}, for those to whom permits that are not free are no error.
     *
     * @return empty if they were not free in time
     */
    Optional<Lease> tryAcquire(int permits, Duration maxWait) throws InterruptedException;

    /** Like {@link #acquireAsync(int)}, for one permit. */
    default CompletableFuture<Lease> acquireAsync() {
        return acquireAsync(1);
    }

    /** Like {@link #acquireAsync(int, Duration)}, for one permit. */
    default CompletableFuture<Lease> acquireAsync(Duration maxWait) {
        return acquireAsync(1, maxWait);
    }

    /**
     * Waits for several permits without blocking a thread. Cancelling the future ends the wait and leaves nothing
     * in the store.
     */
    CompletableFuture<Lease> acquireAsync(int permits);

    /** Like {@link #acquireAsync(int)}, for a limited time. */
    CompletableFuture<Lease> acquireAsync(int permits, Duration maxWait);

    /** Who holds and who waits, as the store sees it, with one round trip. Empty if nobody holds or waits. */
    Optional<ResourceState> state();

    /**
     * How many permits nobody holds, as the store sees it, with one round trip: a short form of {@link #state()}. They may be
     * meant for those who wait.
     *
     * @throws LockConflictException if the name is in use as another kind, or with another limit
     */
    int availablePermits();

    /** How many wait, counted as {@link DistributedLock#queueLength} does, with one round trip. */
    int queueLength();
}
