package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.MonotonicClock;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/**
 * Checks that the data which a lock guards is linearizable, in whatever order its hand-offs occur. The clock stands
 * still, so that neither the time bound of the hand-offs nor a lease is ever over.
 *
 * <p>It uses the stress mode only: Lincheck's model checker must control every thread, and cannot control those of
 * a client.
 */
class HandOffLincheckTest {

    private static final MonotonicClock STANDING = new MonotonicClock() {
        @Override
        public long nanoTime() {
            return 0;
        }

        @Override
        public long epochMicros() {
            return 1;
        }

        @Override
        public void parkNanos(Object blocker, long nanos) {
            LockSupport.park(blocker);
        }
    };

    /** All runs share one client, because its threads would outlive each run. */
    private static final Holdfast LOCKS = Holdfast.builder()
            .store(new MemoryLockStore(STANDING))
            .clock(STANDING)
            .connect();

    private static final AtomicLong RUNS = new AtomicLong();

    @AfterAll
    static void close() {
        LOCKS.close();
    }

    /** A counter that a lock guards. Each run uses a lock name of its own. */
    public static class Counter {
        private final DistributedLock lock = LOCKS.lock("run " + RUNS.incrementAndGet());
        private int value;

        @Operation
        public int nextOfThread() {
            lock.lock();
            try {
                return ++value;
            } finally {
                lock.unlock();
            }
        }

        @Operation
        public int nextOfLease() throws InterruptedException {
            try (Lease lease = lock.acquire()) {
                return lease.isValid() ? ++value : -1;
            }
        }
    }

    /** A counter that is guarded in all ways in which a thread may hold a lock: once, twice, after tries, for a limited time. */
    public static class Reentered {
        private final DistributedLock lock = LOCKS.lock("run " + RUNS.incrementAndGet());
        private int value;

        @Operation
        public int nextOfTwoHolds() {
            lock.lock();
            try {
                lock.lock();
                try {
                    return lock.holdCount() == 2 ? ++value : -1;
                } finally {
                    lock.unlock();
                }
            } finally {
                lock.unlock();
            }
        }

        @Operation
        public int nextOfTries() {
            while (!lock.tryLock()) {
                Thread.yield();
            }
            try {
                return lock.holdCount() == 1 && lock.isHeldByCurrentThread() ? ++value : -1;
            } finally {
                lock.unlock();
            }
        }

        @Operation
        public int nextOfFuture() {
            try (Lease lease = lock.acquireAsync().join()) {
                return lease.state() == LeaseState.SAFE ? ++value : -1;
            }
        }
    }

    /** The sequential specification of that. */
    public static class PlainReentered {
        private int value;

        public int nextOfTwoHolds() {
            return ++value;
        }

        public int nextOfTries() {
            return ++value;
        }

        public int nextOfFuture() {
            return ++value;
        }
    }

    /** A number that readers share and writers change; a writer may go on as a reader. */
    public static class Register {
        private final DistributedReadWriteLock lock = LOCKS.readWriteLock("run " + RUNS.incrementAndGet());
        private int value;

        @Operation
        public int read() {
            lock.readLock().lock();
            try {
                return value;
            } finally {
                lock.readLock().unlock();
            }
        }

        @Operation
        public int write() {
            lock.writeLock().lock();
            try {
                return ++value;
            } finally {
                lock.writeLock().unlock();
            }
        }

        @Operation
        public int writeAndReadOn() {
            lock.writeLock().lock();
            lock.readLock().lock();
            try {
                value++;
            } finally {
                lock.writeLock().unlock();
            }
            try {
                return value;
            } finally {
                lock.readLock().unlock();
            }
        }
    }

    /** The sequential specification of the register. */
    public static class PlainRegister {
        private int value;

        public int read() {
            return value;
        }

        public int write() {
            return ++value;
        }

        public int writeAndReadOn() {
            return ++value;
        }
    }

    /** A planted race: what guards the counter hands it to two at once. */
    public static class GuardedByTwo {
        private final DistributedSemaphore lock = LOCKS.semaphore("run " + RUNS.incrementAndGet(), 2);
        private int value;

        @Operation
        public int nextOfThread() throws InterruptedException {
            try (Lease lease = lock.acquire()) {
                return next();
            }
        }

        @Operation
        public int nextOfLease() throws InterruptedException {
            try (Lease lease = lock.acquire()) {
                return lease.isValid() ? next() : -1;
            }
        }

        private int next() {
            int seen = value;
            Thread.yield();
            value = seen + 1;
            return value;
        }
    }

    /** The sequential specification of the counter. */
    public static class Plain {
        private int value;

        public int nextOfThread() {
            return ++value;
        }

        public int nextOfLease() {
            return ++value;
        }
    }

    @Test
    void whatALockGuardsIsLinearizable() {
        options(10, 300).sequentialSpecification(Plain.class).check(Counter.class);
    }

    @Test
    void whatAReenteredLockGuardsIsLinearizable() {
        options(8, 200).sequentialSpecification(PlainReentered.class).check(Reentered.class);
    }

    @Test
    void whatReadersAndWritersShareIsLinearizable() {
        options(8, 200).sequentialSpecification(PlainRegister.class).check(Register.class);
    }

    @Test
    void plantedRaceIsFound() {
        assertThatThrownBy(() ->
                        options(10, 300).sequentialSpecification(Plain.class).check(GuardedByTwo.class))
                .hasMessageContaining("Invalid execution results");
    }

    private static StressOptions options(int iterations, int invocations) {
        return new StressOptions()
                .threads(3)
                .actorsPerThread(3)
                .actorsBefore(0)
                .actorsAfter(1)
                .minimizeFailedScenario(false)
                .iterations(iterations)
                .invocationsPerIteration(invocations);
    }
}
