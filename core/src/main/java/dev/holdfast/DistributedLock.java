package dev.holdfast;

import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A lock that excludes the threads of all processes that use the same store and name. It can be used in two ways.
 * The methods of {@link Lock} belong to the calling thread and are re-entrant. {@link #acquire()} and the other
 * methods that acquire a {@link Lease} give a handle that any thread may release.
 *
 * <p>The state of a hold belongs to ({@link Holdfast}, name, thread), not to this object: two objects of one name
 * are the same lock. Objects are cheap to create and thread-safe, and they need not be closed.
 *
 * <h2>Guarantees</h2>
 *
 * <ul>
 *   <li>At no time do two holders both find their lock valid, as long as the clocks of client and store run at the
 *       same rate within 1 %, and as far as the store keeps what its page in the documentation promises.
 *   <li>The lock of a holder that dies is free when its lease ends, at the latest.
 *   <li>A wait that ends without the lock (time limit, interrupt, error) leaves nothing in the queue.
 *   <li>{@code lock()} neither throws on nor swallows an interrupt.
 *   <li>Memory: actions before {@code unlock()} happen-before actions after the next {@code lock()} of the same name in
 *       the same JVM. Between JVMs there is no shared memory to order.
 * </ul>
 *
 * <p>Unlike {@code ReentrantLock}, a lock can be lost while it is held; see {@link Lease}.
 *
 * <p>All methods that acquire throw {@link StoreUnavailableException} when the store cannot be reached for {@link
 * LockOptions#storeTimeout()}, and {@link LockConflictException} when the name is in use as another kind.
 */
public interface DistributedLock extends Lock {

    /** The name of the lock. For a multi-lock, these are its names joined by commas. */
    String name();

    /**
     * Waits until the calling thread holds the lock. An interrupt does not end the wait; the interrupt flag is set
     * again when the method returns.
     *
     * @throws LockLostException if the thread holds the lock already and has lost it
     * @throws LockException if the thread holds it already and the lock is not re-entrant, or holds the read lock and asks
     *     for the write lock
     */
    @Override
    void lock();

    /** Like {@link #lock()}, but an interrupt ends the wait and leaves nothing in the store. */
    @Override
    void lockInterruptibly() throws InterruptedException;

    /**
     * Takes the lock if it is free now. This needs at most one round trip to the store, and none if another thread
     * of this JVM is known to hold the lock. It returns false where {@link #lock()} throws because the thread holds the lock
     * already.
     *
     * @throws LockLostException if the thread holds the lock already and has lost it
     */
    @Override
    boolean tryLock();

    /**
     * Waits for the lock for a limited time, measured on the monotonic clock. A time of zero or less does not wait.
     *
     * @return whether the thread holds the lock now
     * @throws LockException like {@link #lock()}, if it would wait for itself; the JDK's locks return false then
     */
    @Override
    boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

    /**
     * Gives up one hold of the calling thread; the last one frees the lock. If the outcome of the round trip is
     * unknown, the method returns, and the release is repeated in the background until the lease is over.
     *
     * @throws IllegalMonitorStateException if the thread does not hold the lock
     * @throws LockLostException if the lock was lost; the hold is given up all the same
     */
    @Override
    void unlock();

    /**
     * A new condition for threads of this JVM that use the returned object, as the JDK means it. Nothing is sent for it.
     * A wait gives up all holds of the thread and takes as many back, as a new grant with a larger token. It throws what {@link
     * #lock()} throws if the lock cannot be taken back, and when the client is closed; the thread holds nothing then.
     *
     * @throws UnsupportedOperationException if this is a read lock or a multi-lock
     */
    @Override
    Condition newCondition();

    /**
     * The condition of this lock that all processes share under this name. Two objects of one name are the same condition.
     * In the store it is a wait set, a resource with the name {@code LOCK#NAME}.
     *
     * <ul>
     *   <li>The calling thread must hold the lock through {@link #lock()}; else {@code IllegalMonitorStateException}. If it has
     *       lost it, waiting and signalling throw {@link LockLostException}, and nobody is woken.
     *   <li>To wait gives up all holds of the thread, and takes as many back. <b>The lock comes back as a new grant with a larger
     *       token</b>; a token that was read before is stale.
     *   <li>Threads are woken in the order in which they began to wait. A thread that has just given up takes no signal
     *       with it: the next one is woken. An interrupt that comes after the signal is kept as the thread's flag, and a
     *       time that ends after the signal counts as a wait in time.
     *   <li>A thread that was signalled and cannot take the lock back wakes the next one, as soon as the store can be reached.
     *   <li>A signal to a thread whose process dies before it has the lock is lost. Therefore every wait ends after 27 to 30
     *       seconds, as a spurious wake-up; it also ends if the store has lost the thread's place. As always with
     *       conditions, check in a loop what is waited for.
     *   <li>To wait takes one request besides those of the lock, and a second one if it ends without a signal. To signal takes
     *       two to four (on ZooKeeper nine), however many threads wait, up to 200 places on etcd; {@code signalAll} takes one to
     *       three for each of them (on ZooKeeper four), and one more. If the store fails, each is repeated for {@link
     *       LockOptions#storeTimeout()}. If it cannot be reached before the wait begins, the lock has not been given up. If the lock cannot be taken back afterwards, the wait throws what {@link #lock()}
     *       throws, and the thread holds nothing; this is the one difference from the JDK.
     * </ul>
     *
     * @param name not empty, and without {@code #}
     * @throws UnsupportedOperationException if this is a read lock or a multi-lock, or if the store has no queue
     * @throws IllegalArgumentException if {@code LOCK#NAME} cannot be the name of a lock
     */
    Condition condition(String name);

    /**
     * Waits for the lock and returns it as a handle.
     *
     * @throws InterruptedException if the thread is interrupted while it waits
     * @throws LockException at once, if the calling thread holds the name through {@link #lock()}, because it would
     *     wait for itself
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

    /**
     * Takes the lock if it is free now, with at most one round trip. The result is also empty if the calling thread
     * holds the lock through {@link #lock()}.
     */
    Optional<Lease> tryAcquire();

    /**
     * Like {@link #acquire(Duration)}, for those to whom a lock that is not free is no error.
     *
     * @param maxWait not negative; zero does not wait
     * @return empty if the lock was not free in time
     * @throws LockException like {@link #acquire()}, if it would wait for itself
     */
    Optional<Lease> tryAcquire(Duration maxWait) throws InterruptedException;

    /**
     * Waits for the lock without blocking a thread. Cancelling the future ends the wait and leaves nothing in the
     * store. Unlike {@link #acquire()} it also waits if the calling thread holds the name through {@link #lock()}: a thread that
     * waits for the future then, and has not unlocked, waits for itself.
     *
     * @return a future that fails with what {@link #acquire()} throws otherwise
     */
    CompletableFuture<Lease> acquireAsync();

    /** Like {@link #acquireAsync()}, for a limited time. */
    CompletableFuture<Lease> acquireAsync(Duration maxWait);

    /**
     * Whether the calling thread holds the lock through {@link #lock()} and has not lost it. The store is not
     * asked.
     */
    boolean isHeldByCurrentThread();

    /**
     * How often the calling thread holds the lock through {@link #lock()}; a lost hold counts until it is given up.
     * The store is not asked.
     */
    int holdCount();

    /**
     * The fencing token of the calling thread's hold. Re-entry keeps it. The store is not asked.
     *
     * @throws IllegalMonitorStateException if the thread does not hold the lock
     * @throws IllegalStateException if this is a multi-lock: each name has a token of its own
     */
    long token();

    /**
     * Makes the calling thread's hold last for at least {@code lease} from now, with one round trip to the store, or one for each
     * name of a multi-lock. It never shortens the hold and does not extend it beyond {@code maxHold}.
     *
     * @param lease 100 ms to 24 h
     * @throws IllegalMonitorStateException if the thread does not hold the lock
     * @throws LockLostException if it has lost the lock
     * @throws StoreUnavailableException if the store did not answer; the lock is held as long as before, or longer
     */
    void extend(Duration lease);

    /**
     * Who holds and who waits, as the store sees it, with one round trip. Empty if nobody holds or waits.
     *
     * @throws UnsupportedOperationException if this is a multi-lock
     */
    Optional<ResourceState> state();

    /**
     * Whether anybody holds the name, as the store sees it, with one round trip: a short form of {@link #state()}. A read lock is
     * locked while somebody writes, too.
     *
     * @throws UnsupportedOperationException if this is a multi-lock
     */
    default boolean isLocked() {
        return state().filter(state -> !state.holders().isEmpty()).isPresent();
    }

    /**
     * How many wait for the name, with one round trip: all threads and futures of this client, and one for each claim of others
     * that waits in the store, behind which any number of threads of another client may wait. In stores without a queue,
     * those of other clients are not seen.
     *
     * @throws UnsupportedOperationException if this is a multi-lock
     */
    int queueLength();

    /**
     * Breaks the lock: releases the claims that hold it at the moment, whoever made them. Their holders are
     * notified of the loss with {@link LossReason#BROKEN}: at once in this client, and at their next renewal in
     * other clients. A holder in another client whose lease is not renewed finds out only when it extends or
     * releases its lock. Waiters keep their positions in the queue, and the next one is granted.
     *
     * @return how many claims were broken
     */
    int forceRelease();
}
