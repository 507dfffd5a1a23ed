package dev.holdfast.benchmarks;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.store.Providers;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/** The cost of the engine itself: over the store in memory, without a network. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class InProcess {

    private final ReentrantLock local = new ReentrantLock();
    private final Holdfast locks = Holdfast.connect("memory:");
    private final DistributedLock free = locks.lock("free");
    private final Lease lease = locks.lock("leased").tryAcquire().orElseThrow();

    private final DistributedLock hot = locks.lock("hot");
    private final LockStore store = Providers.of("memory:").open("memory:", MonotonicClock.SYSTEM);
    private final LockName bare = new LockName("bare");
    private final OwnerInfo owner = OwnerInfo.of("bench");
    private long sequence;

    @TearDown
    public void close() {
        locks.close();
        store.close();
    }

    /** The store without the engine: the rest of {@link #freeLockAndUnlock} is the engine's cost. */
    @Benchmark
    public Object storeAlone() {
        Claim claim = new Claim(bare, new ClaimId("bench", ++sequence), 1, 1, Duration.ofSeconds(30), owner, false);
        store.tryAcquire(claim);
        return store.release(claim);
    }

    /** A lock that passes between threads of this process. The time is that of one thread, the others' turns included. */
    @Benchmark
    @Threads(4)
    public void localHandOff() {
        hot.lock();
        hot.unlock();
    }

    @Benchmark
    public void freeLockAndUnlock() {
        free.lock();
        free.unlock();
    }

    @Benchmark
    public int reentry(Holder holder) {
        holder.lock.lock();
        int count = holder.lock.holdCount();
        holder.lock.unlock();
        return count;
    }

    @Benchmark
    public boolean isValid() {
        return lease.isValid();
    }

    @Benchmark
    public void reentrantLockOfTheJdk() {
        local.lock();
        local.unlock();
    }

    /** A lock that the thread of the benchmark holds throughout. */
    @State(Scope.Thread)
    public static class Holder {
        private final Holdfast locks = Holdfast.connect("memory:");
        private final DistributedLock lock = locks.lock("mine");

        @Setup
        public void hold() {
            lock.lock();
        }

        @TearDown
        public void close() {
            locks.close();
        }
    }
}
