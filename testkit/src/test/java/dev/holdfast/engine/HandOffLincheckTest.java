package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import dev.holdfast.internal.hold.Grant;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.MonotonicClock;
import java.util.concurrent.CompletableFuture;
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

        /** Who gives up waiting takes nothing with him, whether he leaves the queue or has just been given the lock. */
        @Operation
        public void comeAndGo() {
            CompletableFuture<Lease> coming = lock.acquireAsync();
            if (!coming.cancel(false)) {
                coming.join().release();
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

    /** A lease that is looked at, lost and released by several threads. */
    public static class Ending {
        private final Hold hold =
                (Hold) LOCKS.lock("run " + RUNS.incrementAndGet()).tryAcquire().orElseThrow();

        @Operation
        public LeaseState state() {
            return hold.state();
        }

        @Operation
        public boolean isValid() {
            return hold.isValid();
        }

        @Operation
        public void lose() {
            Grant grant = hold.grant();
            grant.home().change(() -> grant.lose(LossReason.TAKEN));
        }

        /** Returns whether this was the release of a lease that was lost, which only one is told. */
        @Operation
        public boolean release() {
            try {
                hold.release();
                return false;
            } catch (LockLostException lost) {
                return true;
            }
        }
    }

    /** The sequential specification of that. A loss is final, and shows after the release, too. */
    public static class PlainEnding {
        private boolean lost;
        private boolean released;

        public LeaseState state() {
            return lost ? LeaseState.LOST : released ? LeaseState.RELEASED : LeaseState.SAFE;
        }

        public boolean isValid() {
            return state() == LeaseState.SAFE;
        }

        public void lose() {
            lost |= !released;
        }

        public boolean release() {
            boolean isTold = lost && !released;
            released = true;
            return isTold;
        }
    }

    /** A planted race: two who release at once are both told of the loss. */
    public static class ToldTwice {
        private volatile boolean lost;
        private volatile boolean released;

        @Operation
        public synchronized LeaseState state() {
            return lost ? LeaseState.LOST : released ? LeaseState.RELEASED : LeaseState.SAFE;
        }

        @Operation
        public synchronized void lose() {
            lost |= !released;
        }

        @Operation
        public boolean release() {
            boolean isTold = lost && !released;
            Thread.yield();
            released = true;
            return isTold;
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

        public void comeAndGo() {
            // It leaves nothing.
        }
    }

    @Test
    void whatALockGuardsIsLinearizable() {
        options(8, 200).sequentialSpecification(Plain.class).check(Counter.class);
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
    void theStatesOfALeaseAreLinearizable() {
        options(8, 200).sequentialSpecification(PlainEnding.class).check(Ending.class);
    }

    @Test
    void plantedRaceInWhatIsGuardedIsFound() {
        isFound(GuardedByTwo.class, Plain.class);
    }

    @Test
    void plantedRaceInTheStatesIsFound() {
        isFound(ToldTwice.class, PlainEnding.class);
    }

    private static void isFound(Class<?> planted, Class<?> specification) {
        assertThatThrownBy(() ->
                        options(10, 300).sequentialSpecification(specification).check(planted))
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
