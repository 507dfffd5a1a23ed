package dev.holdfast.workload;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import java.time.Duration;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/** Holdfast itself. */
public final class HoldfastSubject implements Subject {

    private final Holdfast locks;
    private final LockOptions options;
    private final boolean semaphore;

    private HoldfastSubject(Holdfast locks, LockOptions options, boolean semaphore) {
        this.locks = locks;
        this.options = options;
        this.semaphore = semaphore;
    }

    /**
     * Connects.
     *
     * @param subject {@code holdfast}, or {@code holdfast-fair}, {@code holdfast-spin}, {@code holdfast-semaphore} (of one
     *     permit)
     */
    public static HoldfastSubject open(String subject, String url, Duration lease) {
        LockOptions options = LockOptions.defaults().withLease(lease);
        switch (subject) {
            case "holdfast", "holdfast-semaphore" -> {}
            case "holdfast-fair" -> options = options.withFair(true);
            case "holdfast-spin" -> options = options.withSpin(true);
            default -> throw new IllegalArgumentException("There is no subject " + subject);
        }
        Holdfast locks = Holdfast.builder().url(url).label("bench").connect();
        return new HoldfastSubject(locks, options, subject.endsWith("semaphore"));
    }

    @Override
    public Section mutex(String name) {
        return semaphore ? new Permit(locks.semaphore(name, 1, options)) : new LockSection(locks.lock(name, options));
    }

    @Override
    public Section reader(String name) {
        return new LockSection(readWrite(name).readLock());
    }

    @Override
    public Section writer(String name) {
        return new LockSection(readWrite(name).writeLock());
    }

    @Override
    public ConditionSection condition(String name) {
        return new Conditional(locks.lock(name, options));
    }

    private DistributedReadWriteLock readWrite(String name) {
        return locks.readWriteLock(name, options);
    }

    private static final class Conditional extends LockSection implements ConditionSection {
        private final Condition condition;

        Conditional(DistributedLock lock) {
            super(lock);
            this.condition = lock.condition("signalled");
        }

        // A spurious wake-up would be measured as a signal that took less than no time; none is expected in so short a
        // wait.
        @Override
        @SuppressWarnings("WaitNotInLoop")
        public void await() throws InterruptedException {
            condition.await();
        }

        @Override
        public void signal() {
            condition.signal();
        }
    }

    private static final class Permit implements Section {
        private final DistributedSemaphore semaphore;
        private @Nullable Lease held;

        Permit(DistributedSemaphore semaphore) {
            this.semaphore = semaphore;
        }

        @Override
        public void enter() throws InterruptedException {
            held = semaphore.acquire();
        }

        @Override
        public void leave() {
            if (held != null) {
                held.release();
            }
        }
    }

    @Override
    public void close() {
        locks.close();
    }
}
