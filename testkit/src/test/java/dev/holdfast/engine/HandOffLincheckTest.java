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
 * What a lock guards is linearizable, however its hand-offs fall. The clock stands still, so that neither a bound of the
 * hand-offs nor a lease is ever over.
 *
 * <p>Under stress only: Lincheck's model checker wants to command every thread, and cannot those of a client.
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

    /** One client for all runs: its threads would outlive each of them. */
    private static final Holdfast LOCKS = Holdfast.builder()
            .store(new MemoryLockStore(STANDING))
            .clock(STANDING)
            .connect();

    private static final AtomicLong RUNS = new AtomicLong();

    @AfterAll
    static void close() {
        LOCKS.close();
    }

    /** A counter behind a lock, of a name of its own for each run. */
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

    /** What the counter is to look like from outside. */
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
