package dev.holdfast.internal.lock;

import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.acquire.FutureWait;
import dev.holdfast.internal.acquire.ThreadWait;
import dev.holdfast.internal.cohort.CohortLock;
import dev.holdfast.internal.condition.ConditionLock;
import dev.holdfast.internal.condition.LocalCondition;
import dev.holdfast.internal.condition.SharedCondition;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.HoldEnd;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/** One name: a mutex, one half of a read-write lock, or some permits of a semaphore. */
public final class ReentrantDistributedLock extends AbstractDistributedLock {

    private ReentrantDistributedLock(Engine engine, LockSpec spec) {
        super(engine, spec);
        Preconditions.options(engine, spec);
    }

    /** A lock that one may hold at a time. */
    public static ReentrantDistributedLock mutex(Engine engine, String name, LockOptions options) {
        return new ReentrantDistributedLock(engine, LockSpec.of(new LockName(name), 1, 1, options));
    }

    /** The read half of a read-write lock. */
    public static ReentrantDistributedLock read(Engine engine, String name, LockOptions options) {
        return new ReentrantDistributedLock(engine, LockSpec.of(new LockName(name), 1, Claim.ALL, options));
    }

    /** The write half of a read-write lock. */
    public static ReentrantDistributedLock write(Engine engine, String name, LockOptions options) {
        return new ReentrantDistributedLock(engine, LockSpec.of(new LockName(name), Claim.ALL, Claim.ALL, options));
    }

    /** What is asked for by this: a member of a multi-lock, or some permits of a semaphore, acquired as leases only. */
    static ReentrantDistributedLock of(Engine engine, LockSpec spec) {
        return new ReentrantDistributedLock(engine, spec);
    }

    @Override
    public String name() {
        return spec.name().value();
    }

    @Override
    @Nullable
    Lease acquire(boolean holds, long maxWait, boolean interruptible) throws InterruptedException {
        return ThreadWait.acquire(engine, spec, holds, maxWait, interruptible);
    }

    @Override
    CompletableFuture<Lease> acquireAsync(long maxWait) {
        return FutureWait.acquire(engine, spec, maxWait);
    }

    @Override
    LockTimeoutException timedOut(long begun) {
        return ThreadWait.timedOut(engine, List.of(spec), begun);
    }

    @Override
    public void unlock() {
        HoldEnd end = endOne();
        if (end != null) {
            end.await();
        }
    }

    /** Gives up one count of the calling thread; what is left to do is done by the result, null if there is nothing. */
    @Nullable
    HoldEnd endOne() {
        Thread thread = Thread.currentThread();
        CohortLock lock = engine.locks().enter(spec.name());
        try {
            HoldEnd end = lock.unlock(spec, thread);
            if (!lock.isLockedBy(thread)) {
                engine.locks().heldNames().remove(spec.name());
            }
            return end;
        } finally {
            lock.leave();
        }
    }

    @Override
    public Condition newCondition() {
        return new LocalCondition(engine, new OfThread());
    }

    @Override
    public Condition condition(String conditionName) {
        return new SharedCondition(engine, new OfThread(), conditionName);
    }

    /** The lock as the calling thread holds it, for its conditions. */
    private final class OfThread implements ConditionLock {

        private OfThread() {
            if (spec.isRead()) {
                throw new UnsupportedOperationException("The read lock \"" + name()
                        + "\" has no conditions: several may hold it at once. Use the write lock's");
            }
        }

        @Override
        public LockSpec spec() {
            return spec;
        }

        @Override
        public void requireHeld() {
            Hold hold = requireHold("can neither wait for a condition of it nor signal one");
            if (!hold.isHeld()) {
                throw hold.lostException();
            }
            if (spec.limit() == Claim.ALL && holdCount(spec.asRead()) > 0) {
                throw new IllegalMonitorStateException("Thread "
                        + Thread.currentThread().getName() + " holds the read lock \"" + name()
                        + "\" too, which would keep all others from signalling: unlock it first");
            }
        }

        @Override
        public int giveUp() {
            int holds = holdCount();
            HoldEnd end = null;
            for (int left = holds; left > 0; left--) {
                end = endOne();
            }
            if (end != null) {
                end.await();
            }
            return holds;
        }

        @Override
        public void takeBack(int holds) {
            int held = 0;
            try {
                for (; held < holds; held++) {
                    lock();
                }
            } finally {
                if (held < holds) {
                    giveUpQuietly();
                }
            }
        }

        // Lost after some of the holds were taken back: the caller gets all of them or none.
        private void giveUpQuietly() {
            try {
                giveUp();
            } catch (LockLostException lost) {
                // That is why they are given up.
                return;
            }
        }
    }

    @Override
    public boolean isHeldByCurrentThread() {
        Hold hold = holdOfThread();
        return hold != null && hold.isHeld();
    }

    @Override
    public int holdCount() {
        return holdCount(spec);
    }

    private int holdCount(LockSpec of) {
        CohortLock lock = engine.locks().peek(of.name());
        return lock == null ? 0 : lock.locked(() -> lock.holdCount(Thread.currentThread(), of));
    }

    @Override
    public long token() {
        return requireHold("has no token").token();
    }

    @Override
    public void extend(Duration lease) {
        requireHold("cannot be extended").extend(lease);
    }

    private Hold requireHold(String without) {
        Hold hold = holdOfThread();
        if (hold == null) {
            throw new IllegalMonitorStateException(
                    "Thread " + Thread.currentThread().getName() + " of client " + engine.clientId()
                            + " does not hold lock \"" + name() + "\", so that it " + without);
        }
        return hold;
    }

    private @Nullable Hold holdOfThread() {
        CohortLock lock = engine.locks().peek(spec.name());
        return lock == null ? null : lock.<@Nullable Hold>locked(() -> lock.holdOf(Thread.currentThread(), spec));
    }

    @Override
    public Optional<ResourceState> state() {
        return engine.inspector().state(spec.name(), spec.storeTimeout());
    }

    @Override
    public int queueLength() {
        long elsewhere = state().stream()
                .flatMap(state -> state.waiters().stream())
                .filter(waiter -> !waiter.claim().id().client().equals(engine.clientId()))
                .count();
        CohortLock here = engine.locks().peek(spec.name());
        return (int) elsewhere + (here == null ? 0 : here.locked(here::waiting));
    }

    @Override
    public int forceRelease() {
        return engine.inspector().breakHolders(spec.name(), spec.storeTimeout());
    }

    @Override
    public String toString() {
        return kind() + " \"" + name() + "\"";
    }

    private String kind() {
        return switch (spec.limit()) {
            case 1 -> "mutex";
            case Claim.ALL -> spec.isRead() ? "read lock" : "write lock";
            default -> "semaphore";
        };
    }
}
