package dev.holdfast.internal.lock;

import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.acquire.Several;
import dev.holdfast.internal.acquire.ThreadWait;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.HoldEnd;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.hold.SeveralLease;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Several mutexes as one, all or nothing. They are taken in the order of their names' bytes, whatever order the caller
 * named them in, so that two multi-locks cannot wait for each other.
 */
public final class MultiLock extends AbstractDistributedLock {

    private final List<LockSpec> specs;
    private final List<ReentrantDistributedLock> members;
    private final LockOptions options;

    public MultiLock(Engine engine, Collection<String> names, LockOptions options) {
        this(engine, specs(names, options), options);
    }

    private MultiLock(Engine engine, List<LockSpec> specs, LockOptions options) {
        super(engine, specs.get(0));
        this.options = options;
        this.specs = specs;
        this.members = specs.stream()
                .map(one -> ReentrantDistributedLock.of(engine, one))
                .toList();
    }

    private static List<LockSpec> specs(Collection<String> names, LockOptions options) {
        if (names.isEmpty()) {
            throw new IllegalArgumentException("A multi-lock must have at least one name");
        }
        List<LockName> sorted = names.stream().map(LockName::new).sorted().toList();
        if (sorted.stream().distinct().count() < sorted.size()) {
            throw new IllegalArgumentException("A multi-lock must not name a lock twice, but was given " + names);
        }
        return sorted.stream().map(name -> LockSpec.of(name, 1, 1, options)).toList();
    }

    @Override
    public String name() {
        return members.stream().map(ReentrantDistributedLock::name).collect(Collectors.joining(","));
    }

    @Override
    @Nullable
    Lease acquire(boolean holds, long maxWait, boolean interruptible) throws InterruptedException {
        List<Hold> all = Several.acquire(engine, specs, holds, maxWait, interruptible);
        return all == null ? null : new SeveralLease(all);
    }

    @Override
    CompletableFuture<Lease> acquireAsync(long maxWait) {
        return Several.acquireAsync(engine, specs, maxWait);
    }

    @Override
    LockTimeoutException timedOut(long begun) {
        return ThreadWait.timedOut(engine, specs, begun);
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
    public Condition condition(String name) {
        return newCondition();
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
    public void extend(Duration lease) {
        members.forEach(member -> member.extend(lease));
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
    public int queueLength() {
        throw new UnsupportedOperationException(
                "A multi-lock has a queue for each name: ask " + members.get(0) + " and so on");
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
