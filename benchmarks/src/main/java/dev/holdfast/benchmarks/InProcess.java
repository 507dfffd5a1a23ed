package dev.holdfast.benchmarks;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
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
import org.openjdk.jmh.annotations.Warmup;

/** What the engine itself costs: over the store in memory, where nothing travels. */
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

    @TearDown
    public void close() {
        locks.close();
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
