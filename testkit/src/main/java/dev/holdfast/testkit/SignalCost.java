package dev.holdfast.testkit;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.function.Supplier;

/**
 * What signals to a shared condition cost: law 8, for wait sets. How requests are counted is known to the test of a store only.
 *
 * @param signaller the store of the client that signals
 * @param others the store of those who wait; the same one, if only one is counted
 * @param reset begins to count anew
 * @param counted what was counted since then
 */
public record SignalCost<T>(LockStore signaller, LockStore others, Runnable reset, Supplier<T> counted) {

    /** Waiters of a small crowd: more than {@link #SIGNALS}, so that some still wait after the last signal. */
    public static final int FEW = 8;

    /** Waiters of a large crowd. */
    public static final int MANY = 64;

    /** So many signals follow each other, so that what the earlier ones cause at others is counted. */
    public static final int SIGNALS = 4;

    private static final String CONDITION = "c";
    private static final Duration LONG = Duration.ofHours(1);

    /** Counts {@link #SIGNALS} signals to a crowd. Each lock needs a name of its own. */
    public T ofSignals(String lockName, int waiters) {
        return counted(lockName, waiters, (condition, crowd) -> {
            for (RecordingListener next : crowd.subList(0, SIGNALS)) {
                condition.signal();
                awaitSignal(next);
            }
        });
    }

    /** Counts one {@code signalAll} to a crowd. */
    public T ofSignalAll(String lockName, int waiters) {
        return counted(lockName, waiters, (condition, crowd) -> {
            condition.signalAll();
            crowd.forEach(SignalCost::awaitSignal);
        });
    }

    /** What is counted. */
    private interface Signals {
        void send(Condition condition, List<RecordingListener> crowd);
    }

    private T counted(String lockName, int waiters, Signals signals) {
        Claimant waiter = new Claimant("waiter", LONG);
        LockName waitSet = new LockName(lockName + "#" + CONDITION);
        List<RecordingListener> crowd = new ArrayList<>();
        for (int i = 0; i < waiters; i++) {
            crowd.add(StoreTest.waiting(others, waiter.waitSet(waitSet)));
        }
        // Its clock stands still, so that no renewal of the lock is among the requests, however slow this machine is.
        try (Holdfast client =
                Holdfast.builder().store(signaller).clock(new ManualClock()).connect()) {
            DistributedLock lock = client.lock(lockName);
            lock.lock();
            try {
                reset.run();
                signals.send(lock.condition(CONDITION), crowd);
                return counted.get();
            } finally {
                lock.unlock();
            }
        }
    }

    private static void awaitSignal(RecordingListener waiter) {
        Renewed.Reason reason = StoreTest.awaitEnd(waiter);
        if (reason != Renewed.Reason.RELEASED) {
            throw new AssertionError("A waiter was not signalled, but " + reason);
        }
    }
}
