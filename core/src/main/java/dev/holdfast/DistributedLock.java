package dev.holdfast;

import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A lock that excludes the threads of all processes that use the same store and name. It has two faces: the methods of
 * {@link Lock}, which belong to the calling thread and are re-entrant, and {@link #acquire()} and its kin, which give a
 * {@link Lease} that any thread may release.
 *
 * <p>The state of a hold belongs to ({@link Holdfast}, name, thread), not to this object: two objects of one name are the
 * same lock. Objects are cheap, thread-safe and need no closing.
 *
 * <h2>Guarantees</h2>
 *
 * <ul>
 *   <li>At no time do two holders both find their lock valid, as long as the clocks of client and store run at the same
 *       rate within 1 %, and as far as the store keeps what its page promises.
 *   <li>A holder that dies ends its lock with the lease, at the latest.
 *   <li>A wait that ends without the lock (time limit, interrupt, error) leaves nothing in the queue.
 *   <li>{@code lock()} neither throws on nor swallows an interrupt.
 *   <li>Memory: actions before {@code unlock()} happen-before actions after the next {@code lock()} of the same name in
 *       the same JVM. Between JVMs there is no shared memory to order.
 * </ul>
 *
 * <p>Unlike {@code ReentrantLock}, a lock can be lost while it is held; see {@link Lease}.
 *
 * <p>All methods that acquire throw {@link StoreUnavailableException} when the store is out of reach for {@link
 * LockOptions#storeTimeout()}, and {@link LockConflictException} when the name is in use as another kind.
 */
public interface DistributedLock extends Lock {

    /** The name; of a multi-lock, its names joined by commas. */
    String name();

    /**
     * Waits until the calling thread holds the lock. An interrupt does not end the wait; the flag is set again on return.
     *
     * @throws LockLostException if the thread holds the lock already and has lost it
     * @throws LockException if the thread holds it already and the lock is not re-entrant, or holds the read lock and asks
     *     for the write lock
     */
    @Override
    void lock();

    /** Like {@link #lock()}, but an interrupt ends the wait and leaves nothing behind. */
    @Override
    void lockInterruptibly() throws InterruptedException;

    /** Takes the lock if it is free now. At most one trip; no trip if another thread of this JVM is known to hold it. */
    @Override
    boolean tryLock();

    /**
     * Waits for the lock for a limited time, measured on the monotonic clock. A time of zero or less does not wait.
     *
     * @return whether the thread holds the lock now
     */
    @Override
    boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

    /**
     * Gives up one hold of the calling thread; the last one frees the lock. If the outcome of the trip is unknown this
     * returns, and the release is repeated in the background until the lease is over.
     *
     * @throws IllegalMonitorStateException if the thread does not hold the lock
     * @throws LockLostException if the lock was lost; the hold is given up all the same
     */
    @Override
    void unlock();

    /**
     * Not supported yet.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    Condition newCondition();

    /**
     * Waits for the lock and gives it as a handle.
     *
     * @throws InterruptedException if the thread is interrupted while it waits
     * @throws LockException at once, if the calling thread holds the name through {@link #lock()}: it would wait for itself
     */
    Lease acquire() throws InterruptedException;

    /**
     * Like {@link #acquire()}, for a limited time.
     *
     * @param maxWait not negative; zero does not wait
     * @throws LockTimeoutException if the lock was not free in time
     * @throws IllegalArgumentException if {@code maxWait} is negative
     */
    Lease acquire(Duration maxWait) throws InterruptedException;

    /** Takes the lock if it is free now; at most one trip. Empty too if the calling thread holds it through {@link #lock()}. */
    Optional<Lease> tryAcquire();

    /**
     * Waits for the lock without a thread. Cancelling the future gives up and leaves nothing behind.
     *
     * @return a future that fails with what {@link #acquire()} throws
     */
    CompletableFuture<Lease> acquireAsync();

    /** Like {@link #acquireAsync()}, for a limited time. */
    CompletableFuture<Lease> acquireAsync(Duration maxWait);

    /** Whether the calling thread holds the lock through {@link #lock()} and has not lost it. No trip. */
    boolean isHeldByCurrentThread();

    /** How often the calling thread holds the lock through {@link #lock()}; a lost hold counts until it is given up. No trip. */
    int holdCount();

    /**
     * The fencing token of the calling thread's hold. Re-entry keeps it. No trip.
     *
     * @throws IllegalMonitorStateException if the thread does not hold the lock
     * @throws IllegalStateException if this is a multi-lock: each name has a token of its own
     */
    long token();

    /**
     * Who holds and who waits, as the store sees it; one trip. Empty if nobody does.
     *
     * @throws UnsupportedOperationException if this is a multi-lock
     */
    Optional<ResourceState> state();

    /**
     * Breaks the lock: releases the claims that hold it at the moment, whoever made them. Their holders hear {@link
     * LossReason#BROKEN}: at once in this client, at their next renewal in others, and only when they extend or release it
     * if their lease is not renewed. Waiters keep their places and the next is granted.
     *
     * @return how many claims were broken
     */
    int forceRelease();
}
