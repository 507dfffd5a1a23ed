package dev.holdfast.springintegration;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.CannotAcquireLockException;

/** A lock of ours with the methods and the exceptions of Spring Integration. It has no state but its name. */
final class RegistryLock implements org.springframework.integration.support.locks.DistributedLock {

    private final Holdfast locks;
    private final LockOptions options;
    private final DistributedLock lock;

    RegistryLock(Holdfast locks, String name, LockOptions options) {
        this.locks = locks;
        this.options = options;
        this.lock = locks.lock(name, options);
    }

    private DistributedLock lasting(Duration ttl) {
        return locks.lock(lock.name(), options.withFixedLease(ttl));
    }

    private static CannotAcquireLockException refused(LockException cause) {
        return new CannotAcquireLockException("The lock was not acquired: " + cause.getMessage(), cause);
    }

    @Override
    public void lock() {
        try {
            lock.lock();
        } catch (LockException cause) {
            throw refused(cause);
        }
    }

    @Override
    public void lock(Duration ttl) {
        try {
            lasting(ttl).lock();
        } catch (LockException cause) {
            throw refused(cause);
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        try {
            lock.lockInterruptibly();
        } catch (LockException cause) {
            throw refused(cause);
        }
    }

    @Override
    public boolean tryLock() {
        try {
            return lock.tryLock();
        } catch (LockException cause) {
            throw refused(cause);
        }
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        try {
            return lock.tryLock(time, unit);
        } catch (LockException cause) {
            throw refused(cause);
        }
    }

    @Override
    public boolean tryLock(Duration wait, Duration ttl) throws InterruptedException {
        try {
            return lasting(ttl).tryLock(TimeUnit.NANOSECONDS.convert(wait), TimeUnit.NANOSECONDS);
        } catch (LockException cause) {
            throw refused(cause);
        }
    }

    @Override
    public void unlock() {
        try {
            lock.unlock();
        } catch (LockLostException lost) {
            ConcurrentModificationException theirs = new ConcurrentModificationException(lost.getMessage());
            theirs.initCause(lost);
            throw theirs;
        }
    }

    /** A condition for the threads of this JVM that use the returned object. Those of Spring's own registries have none. */
    @Override
    public Condition newCondition() {
        return lock.newCondition();
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RegistryLock theirs
                && theirs.locks == locks
                && theirs.lock.name().equals(lock.name());
    }

    @Override
    public int hashCode() {
        return Objects.hash(System.identityHashCode(locks), lock.name());
    }

    @Override
    public String toString() {
        return "RegistryLock[" + lock + "]";
    }
}
