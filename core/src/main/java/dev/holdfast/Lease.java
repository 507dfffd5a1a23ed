package dev.holdfast;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A lock that is held, as a handle: any thread, executor or coroutine may use and release it. It belongs to no
 * thread, so it is never re-entrant.
 *
 * <p>Thread-safe. {@link #token}, {@link #isValid}, {@link #remaining} and {@link #state} read local memory, never the
 * network.
 *
 * <h2>What is not guaranteed</h2>
 *
 * No lock service can prevent a paused process from believing for a moment too long that it still holds its lock:
 *
 * <pre>{@code
 *   A   isValid() -> true | paused .................. | writes with token 33 -> refused
 *   store                       lease ends, B granted with token 34
 *   B                                  writes with token 34 -> done
 * }</pre>
 *
 * Only the resource can refuse A's late write, by comparing tokens ({@link FenceGuard}).
 */
public interface Lease extends AutoCloseable {

    /** The name, or for a multi-lock the names, that are held, in the order of their bytes. */
    List<String> names();

    /**
     * The fencing token. Every later exclusive grant of the name has a larger one, for as long as the store's
     * traits promise.
     *
     * @throws IllegalStateException if this is the lease of several names: each has a token of its own
     */
    long token();

    /**
     * The fencing token of one of the names.
     *
     * @throws IllegalArgumentException if the name is not one of {@link #names}
     */
    long token(String name);

    /** Whether the lock is held, by the local clock, at the moment of the call. */
    default boolean isValid() {
        LeaseState state = state();
        return state == LeaseState.SAFE || state == LeaseState.IN_DOUBT;
    }

    /** What is known without asking the store. {@code LOST} and {@code RELEASED} are final. */
    LeaseState state();

    /** How long the lock is certainly held if it is neither renewed nor broken; zero if it is not held. */
    Duration remaining();

    /**
     * Registers a listener for the loss of the lock. It is called once, on an executor of Holdfast, with the
     * reason: at once if the lock is lost already, and never if it was released. A listener that blocks does not
     * delay other listeners, unless 64 of them block at once.
     */
    void onLost(Consumer<LossReason> listener);

    /**
     * Registers a listener for doubt: the renewal is overdue, and the lock will be lost when its lease ends unless a
     * renewal succeeds. It is called each time the state becomes {@link LeaseState#IN_DOUBT}, on an executor of
     * Holdfast, with the time for which the lock is still certainly held; at once if the lock is in doubt already.
     * {@link #isValid} stays true meanwhile.
     */
    void onInDoubt(Consumer<Duration> listener);

    /**
     * Makes the lock last for at least {@code lease} from now, with one round trip to the store. It never shortens
     * the hold and does not extend it beyond {@code maxHold}.
     *
     * @param lease 100 ms to 24 h
     * @throws LockLostException if the lock is not held any more
     * @throws IllegalStateException if it was released
     * @throws StoreUnavailableException if the store did not answer; the lock is held as long as before, or longer
     */
    void extend(Duration lease);

    /**
     * Ends the lock, with one round trip to the store. Idempotent: a second call does nothing. If the outcome of
     * the round trip is unknown, the method returns and the release is repeated in the background until the lease
     * is over.
     *
     * @throws LockLostException if the lock was lost before; the lease is ended all the same
     */
    void release();

    /**
     * Like {@link #release()}, without waiting; the future fails with {@link LockLostException} if the lock was
     * lost.
     */
    CompletableFuture<Void> releaseAsync();

    /**
     * Ends the handle without releasing the lock: nothing is sent, and nobody can have the lock before the lease is over. This
     * is for a lock that is to stay taken for a known time, also if this process ends: acquire it with a fixed lease of that
     * time. It is not renewed any more, is not reported as a loss, and outlives the close of the client, except where
     * locks end with the client's session (ZooKeeper, etcd). A read lock that other threads of this JVM share goes on with them,
     * and ends when the last of them releases it. Idempotent, and does nothing after a release.
     *
     * @throws LockLostException if the lock was lost before; the handle is ended all the same
     */
    void letExpire();

    /** The same as {@link #release()}. */
    @Override
    default void close() {
        release();
    }
}
