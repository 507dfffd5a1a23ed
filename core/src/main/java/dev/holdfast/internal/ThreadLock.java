package dev.holdfast.internal;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.internal.Acquisition.Owner;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/** A mutex, or one half of a read-write lock. */
public final class ThreadLock implements DistributedLock {

    private final Engine engine;
    private final Request request;
    private final Acquisition forThread;
    private final Acquisition forLease;

    private ThreadLock(Engine engine, Request request) {
        this.engine = engine;
        this.request = request;
        this.forThread = new Acquisition(engine, request, Owner.THREAD);
        this.forLease = new Acquisition(engine, request, Owner.LEASE);
        Checks.options(engine, request);
    }

    /** A lock that one may hold at a time. */
    public static ThreadLock mutex(Engine engine, String name, LockOptions options) {
        return new ThreadLock(engine, Request.of(new LockName(name), 1, 1, options));
    }

    /** The read half of a read-write lock. */
    public static ThreadLock read(Engine engine, String name, LockOptions options) {
        return new ThreadLock(engine, Request.of(new LockName(name), 1, Claim.ALL, options));
    }

    /** The write half of a read-write lock. */
    public static ThreadLock write(Engine engine, String name, LockOptions options) {
        return new ThreadLock(engine, Request.of(new LockName(name), Claim.ALL, Claim.ALL, options));
    }

    @Override
    public String name() {
        return request.name().value();
    }

    @Override
    public void lock() {
        try {
            forThread.await(Long.MAX_VALUE, false);
        } catch (InterruptedException impossible) {
            throw new AssertionError("This wait is not interruptible", impossible);
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        Checks.notInterrupted(request);
        forThread.await(Long.MAX_VALUE, true);
    }

    @Override
    public boolean tryLock() {
        return forThread.tryNow() != null;
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        Checks.notInterrupted(request);
        long nanos = unit.toNanos(time);
        return (nanos <= 0 ? forThread.tryNow() : forThread.await(nanos, true)) != null;
    }

    @Override
    public void unlock() {
        Unlocking.unlock(engine, request, Thread.currentThread());
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException(
                "Conditions are not supported yet: wait for what the lock \"" + name() + "\" guards in another way");
    }

    @Override
    public Lease acquire() throws InterruptedException {
        Checks.notInterrupted(request);
        return lease(forLease.await(Long.MAX_VALUE, true));
    }

    @Override
    public Lease acquire(Duration maxWait) throws InterruptedException {
        long nanos = Checks.wait(maxWait);
        Checks.notInterrupted(request);
        return lease(nanos == 0 ? forLease.tryNow() : forLease.await(nanos, true));
    }

    private Lease lease(@Nullable Hold hold) {
        if (hold == null) {
            throw FutureAcquisition.timedOut(engine, request);
        }
        return new HoldLease(engine, hold);
    }

    @Override
    public Optional<Lease> tryAcquire() {
        return Optional.ofNullable(forLease.tryNow()).map(hold -> new HoldLease(engine, hold));
    }

    @Override
    public CompletableFuture<Lease> acquireAsync() {
        return FutureAcquisition.start(engine, request, Long.MAX_VALUE);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(Duration maxWait) {
        return FutureAcquisition.start(engine, request, Checks.wait(maxWait));
    }

    @Override
    public boolean isHeldByCurrentThread() {
        Hold hold = holdOfThread();
        return hold != null && hold.isHeld(engine.now());
    }

    @Override
    public int holdCount() {
        Resource resource = engine.peek(request.name());
        if (resource == null) {
            return 0;
        }
        resource.mutex().lock();
        try {
            ThreadHolds.Counts counts = resource.threads().of(Thread.currentThread());
            return counts == null || counts.hold().request().limit() != request.limit() ? 0 : counts.of(request);
        } finally {
            resource.mutex().unlock();
        }
    }

    @Override
    public long token() {
        Hold hold = holdOfThread();
        if (hold == null) {
            throw new IllegalMonitorStateException(
                    "Thread " + Thread.currentThread().getName() + " of client " + engine.clientId()
                            + " does not hold lock \"" + name() + "\", so that it has no token");
        }
        return hold.token();
    }

    private @Nullable Hold holdOfThread() {
        Resource resource = engine.peek(request.name());
        if (resource == null) {
            return null;
        }
        resource.mutex().lock();
        try {
            ThreadHolds.Counts counts = resource.threads().of(Thread.currentThread());
            if (counts == null || counts.hold().request().limit() != request.limit() || counts.of(request) == 0) {
                return null;
            }
            return counts.hold();
        } finally {
            resource.mutex().unlock();
        }
    }

    @Override
    public Optional<ResourceState> state() {
        return Inspection.state(engine, request.name(), request.storeTimeout());
    }

    @Override
    public int forceRelease() {
        return Inspection.breakHolders(engine, request.name(), request.storeTimeout());
    }

    @Override
    public String toString() {
        String kind = request.limit() == 1 ? "mutex" : request.isRead() ? "read lock" : "write lock";
        return kind + " \"" + name() + "\"";
    }
}
