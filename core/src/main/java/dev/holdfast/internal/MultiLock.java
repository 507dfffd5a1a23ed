package dev.holdfast.internal;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Several mutexes as one, all or nothing. They are taken in the order of their names' bytes, whatever order the caller
 * named them in, so that two multi-locks cannot wait for each other.
 */
public final class MultiLock implements DistributedLock {

    private final Engine engine;
    private final List<Request> requests;
    private final List<ThreadLock> members;
    private final LockOptions options;

    public MultiLock(Engine engine, Collection<String> names, LockOptions options) {
        if (names.isEmpty()) {
            throw new IllegalArgumentException("A multi-lock must have at least one name");
        }
        List<LockName> sorted = names.stream().map(LockName::new).sorted().toList();
        if (sorted.stream().distinct().count() < sorted.size()) {
            throw new IllegalArgumentException("A multi-lock must not name a lock twice, but was given " + names);
        }
        this.engine = engine;
        this.options = options;
        this.requests =
                sorted.stream().map(name -> Request.of(name, 1, 1, options)).toList();
        this.members = sorted.stream()
                .map(name -> ThreadLock.mutex(engine, name.value(), options))
                .toList();
    }

    private MultiAcquisition acquisition(boolean forThread) {
        return new MultiAcquisition(engine, requests, forThread);
    }

    @Override
    public String name() {
        return members.stream().map(ThreadLock::name).collect(Collectors.joining(","));
    }

    @Override
    public void lock() {
        try {
            acquisition(true).await(Long.MAX_VALUE, false);
        } catch (InterruptedException impossible) {
            throw new AssertionError("This wait is not interruptible", impossible);
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        Checks.notInterrupted(requests.get(0));
        acquisition(true).await(Long.MAX_VALUE, true);
    }

    @Override
    public boolean tryLock() {
        return acquisition(true).tryNow() != null;
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        Checks.notInterrupted(requests.get(0));
        long nanos = unit.toNanos(time);
        MultiAcquisition acquisition = acquisition(true);
        return (nanos <= 0 ? acquisition.tryNow() : acquisition.await(nanos, true)) != null;
    }

    @Override
    public void unlock() {
        if (holdCount() == 0) {
            throw new IllegalMonitorStateException(
                    "Thread " + Thread.currentThread().getName() + " of client " + engine.clientId()
                            + " does not hold the multi-lock \"" + name() + "\"");
        }
        LockException lost = null;
        for (int i = members.size() - 1; i >= 0; i--) {
            try {
                members.get(i).unlock();
            } catch (LockException ofOne) {
                lost = ofOne;
            }
        }
        if (lost != null) {
            throw lost;
        }
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("A multi-lock has no conditions");
    }

    @Override
    public Lease acquire() throws InterruptedException {
        Checks.notInterrupted(requests.get(0));
        return lease(acquisition(false).await(Long.MAX_VALUE, true));
    }

    @Override
    public Lease acquire(Duration maxWait) throws InterruptedException {
        long nanos = Checks.wait(maxWait);
        Checks.notInterrupted(requests.get(0));
        MultiAcquisition acquisition = acquisition(false);
        return lease(nanos == 0 ? acquisition.tryNow() : acquisition.await(nanos, true));
    }

    private Lease lease(@Nullable List<Hold> holds) {
        if (holds == null) {
            throw new LockTimeoutException("Not all of the locks \"" + name() + "\" were free in time for client "
                    + engine.clientId() + ". None is held and nothing waits");
        }
        return new MultiLease(engine, holds);
    }

    @Override
    public Optional<Lease> tryAcquire() {
        return Optional.ofNullable(acquisition(false).tryNow()).map(holds -> new MultiLease(engine, holds));
    }

    @Override
    public CompletableFuture<Lease> acquireAsync() {
        return MultiFuture.start(engine, requests, Long.MAX_VALUE);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(Duration maxWait) {
        return MultiFuture.start(engine, requests, Checks.wait(maxWait));
    }

    @Override
    public boolean isHeldByCurrentThread() {
        return members.stream().allMatch(ThreadLock::isHeldByCurrentThread);
    }

    @Override
    public int holdCount() {
        return (int) least(ThreadLock::holdCount);
    }

    private long least(ToLongFunction<ThreadLock> number) {
        return members.stream().mapToLong(number).min().orElseThrow();
    }

    @Override
    public long token() {
        if (members.size() > 1) {
            throw new IllegalStateException("The multi-lock \"" + name() + "\" has a token for each name: use a Lease");
        }
        return members.get(0).token();
    }

    @Override
    public Optional<ResourceState> state() {
        throw new UnsupportedOperationException(
                "A multi-lock has a state for each name: ask " + members.get(0) + " and so on");
    }

    @Override
    public int forceRelease() {
        return members.stream().mapToInt(ThreadLock::forceRelease).sum();
    }

    @Override
    public String toString() {
        return "multi-lock \"" + name() + "\", " + options;
    }
}
