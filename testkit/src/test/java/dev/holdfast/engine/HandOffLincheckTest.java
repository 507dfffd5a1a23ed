package dev.holdfast.engine;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
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
        new StressOptions()
                .threads(3)
                .actorsPerThread(3)
                .actorsBefore(0)
                .actorsAfter(1)
                .iterations(10)
                .invocationsPerIteration(300)
                .sequentialSpecification(Plain.class)
                .check(Counter.class);
    }
}
