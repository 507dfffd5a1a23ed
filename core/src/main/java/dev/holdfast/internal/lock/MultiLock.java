package dev.holdfast.internal.lock;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.acquire.Several;
import dev.holdfast.internal.hold.HoldEnd;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.hold.SeveralLease;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/**
 * Several mutexes as one, all or nothing. They are taken in the order of their names' bytes, whatever order the caller
 * named them in, so that two multi-locks cannot wait for each other.
 */
public final class MultiLock implements DistributedLock {

    private final Engine engine;
    private final List<LockSpec> specs;
    private final List<ReentrantDistributedLock> members;
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
        this.specs =
                sorted.stream().map(name -> LockSpec.of(name, 1, 1, options)).toList();
        this.members = sorted.stream()
                .map(name -> ReentrantDistributedLock.mutex(engine, name.value(), options))
                .toList();
    }

    @Override
    public String name() {
        return members.stream().map(ReentrantDistributedLock::name).collect(Collectors.joining(","));
    }

    @Override
    public void lock() {
        Several.acquire(engine, specs, true, Nanos.NEVER);
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        Preconditions.notInterrupted(specs.get(0));
        Several.acquire(engine, specs, true, Nanos.NEVER, true);
    }

    @Override
    public boolean tryLock() {
        return Several.acquire(engine, specs, true, 0) != null;
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        Preconditions.notInterrupted(specs.get(0));
        long maxWait = Math.max(0, unit.toNanos(time));
        return Several.acquire(engine, specs, true, maxWait, maxWait != 0) != null;
    }

    @Override
    public void unlock() {
        if (holdCount() == 0) {
            throw new IllegalMonitorStateException(
                    "Thread " + Thread.currentThread().getName() + " of client " + engine.clientId()
                            + " does not hold the multi-lock \"" + name() + "\"");
        }
        List<HoldEnd> ends = new ArrayList<>(members.size());
        for (ReentrantDistributedLock member : members) {
            HoldEnd end = member.endOne();
            if (end != null) {
                ends.add(end);
            }
        }
        HoldEnd.awaitAll(ends);
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("A multi-lock has no conditions");
    }

    @Override
    public Lease acquire() throws InterruptedException {
        return acquire(Nanos.NEVER);
    }

    @Override
    public Lease acquire(Duration maxWait) throws InterruptedException {
        return acquire(Preconditions.wait(maxWait));
    }

    private Lease acquire(long maxWait) throws InterruptedException {
        Preconditions.notInterrupted(specs.get(0));
        return Several.required(engine, specs, Several.acquire(engine, specs, false, maxWait, maxWait != 0));
    }

    @Override
    public Optional<Lease> tryAcquire() {
        return Optional.ofNullable(Several.acquire(engine, specs, false, 0)).map(SeveralLease::new);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync() {
        return Several.acquireAsync(engine, specs, Nanos.NEVER);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(Duration maxWait) {
        return Several.acquireAsync(engine, specs, Preconditions.wait(maxWait));
    }

    @Override
    public boolean isHeldByCurrentThread() {
        return members.stream().allMatch(ReentrantDistributedLock::isHeldByCurrentThread);
    }

    @Override
    public int holdCount() {
        return (int) least(ReentrantDistributedLock::holdCount);
    }

    private long least(ToLongFunction<ReentrantDistributedLock> number) {
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
        return members.stream().mapToInt(ReentrantDistributedLock::forceRelease).sum();
    }

    @Override
    public String toString() {
        return "multi-lock \"" + name() + "\", " + options;
    }
}
