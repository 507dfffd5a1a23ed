package dev.holdfast.springintegration;

import dev.holdfast.Holdfast;
import dev.holdfast.LockException;
import dev.holdfast.LockOptions;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.ExpirableLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.scheduling.TaskScheduler;

/**
 * Spring Integration's registry of locks over the store of a {@link Holdfast}: for aggregators, resequencers, message groups, {@code
 * LockRequestHandlerAdvice} and {@code LockRegistryLeaderInitiator}.
 *
 * <p>The lock of a key is the exclusive lock whose name is the prefix and the key's text. {@code obtain} sends nothing and keeps
 * nothing, so that there is no limit to the number of keys and nothing to expire; two locks of one key are equal, and are the
 * same lock.
 *
 * <h2>Guarantees</h2>
 *
 * <ul>
 *   <li>A lock excludes the threads of all processes, and is re-entrant for each thread.
 *   <li>It is renewed for as long as it is held, unless the {@link LockOptions} or a time to live say otherwise: {@code
 *       lock(ttl)} and {@code tryLock(wait, ttl)} hold it for the time to live, and {@code renewLock} makes it last from then on.
 *       Re-entry keeps the time of the first call. A time to live is 100 ms to 24 h; in ZooKeeper and etcd it is no longer
 *       than what a session keeps without renewals.
 *   <li>Those who wait do not poll where the store has a queue, and are served in their order.
 *   <li>{@code unlock} by a thread that does not hold it: {@code IllegalMonitorStateException}. After the lock was lost: {@code
 *       ConcurrentModificationException}, whose cause says why; what it protects may have been changed by another.
 *   <li>If the store fails: {@code CannotAcquireLockException}.
 * </ul>
 *
 * <p>Thread-safe. The {@link Holdfast} stays the caller's, who closes it.
 */
public final class HoldfastLockRegistry
        implements ExpirableLockRegistry<DistributedLock>, RenewableLockRegistry<DistributedLock> {

    private final Holdfast locks;
    private final String prefix;
    private final LockOptions options;

    /** A registry whose locks have the key's text as their name, and the default options. */
    public HoldfastLockRegistry(Holdfast locks) {
        this(locks, "", LockOptions.defaults());
    }

    /**
     * A registry with names and options of its own.
     *
     * @param prefix what the names of the locks begin with; may be empty
     * @param options how locks without a time to live behave
     */
    public HoldfastLockRegistry(Holdfast locks, String prefix, LockOptions options) {
        this.locks = locks;
        this.prefix = prefix;
        this.options = options;
    }

    /**
     * The lock of a key.
     *
     * @param key its text is part of the name, so it must be the same in all processes, as with a string or a number
     * @throws IllegalArgumentException if prefix and text are not 1 to 255 bytes of UTF-8 without control characters, or if the
     *     key is null, or has no text of its own, as an array or an object whose class has no {@code toString}
     */
    @Override
    public DistributedLock obtain(Object key) {
        return new RegistryLock(locks, nameOf(key), options);
    }

    // The text of Object.toString() differs between two objects that are equal, so that nobody would be excluded.
    private String nameOf(@Nullable Object key) {
        String text = String.valueOf(key);
        if (key == null || text.equals(key.getClass().getName() + "@" + Integer.toHexString(key.hashCode()))) {
            throw new IllegalArgumentException(
                    "The key of a lock must have a text that is the same in all processes, but " + text
                            + " has none: use a string or a number");
        }
        return prefix + text;
    }

    /** Does nothing: no lock is kept here. */
    @Override
    public void expireUnusedOlderThan(long age) {}

    /** Makes a lock that the calling thread holds last for at least the lease of the options from now. */
    @Override
    public void renewLock(Object key) {
        renewLock(key, options.lease());
    }

    /**
     * Makes a lock that the calling thread holds last for at least a time from now; it never shortens it.
     *
     * @param ttl 100 ms to 24 h
     * @throws IllegalStateException if the thread does not hold the lock, or has lost it, or the store did not answer
     */
    @Override
    public void renewLock(Object key, Duration ttl) {
        try {
            locks.lock(nameOf(key), options).extend(ttl);
        } catch (IllegalMonitorStateException | LockException cause) {
            throw new IllegalStateException("The lock was not renewed: " + cause.getMessage(), cause);
        }
    }

    /** Does nothing: the client renews what it holds, on a thread of its own. */
    @Override
    public void setRenewalTaskScheduler(TaskScheduler renewalTaskScheduler) {}
}
