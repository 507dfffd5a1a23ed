package dev.holdfast.engine;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.ManualClock;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * A {@link ManualClock} that knows who is parked on it, so that a test can go on when a thread really waits.
 *
 * <p>A park ends at the time that its thread had in mind: it is counted from the thread's last look at the clock, and not
 * from the park, so that an {@link #advance} between the two cannot make it longer.
 */
final class EngineClock implements MonotonicClock {

    private static final int BREATHS = 4;
    private static final long BREATH_NANOS = 100_000;

    private static final Set<String> PACED = Set.of("holdfast-timer", "holdfast-renewals");

    /** Threads of clients on other clocks, or of tests before this one, that have not ended yet. */
    private final Set<Thread> strangers = timersAndRenewals();

    private final ManualClock manual = new ManualClock();
    private final Map<Thread, Long> parked = new ConcurrentHashMap<>();
    private final ThreadLocal<Long> lastLook = ThreadLocal.withInitial(manual::nanoTime);

    @Override
    public long nanoTime() {
        long now = manual.nanoTime();
        lastLook.set(now);
        return now;
    }

    @Override
    public long epochMicros() {
        return manual.epochMicros();
    }

    @Override
    public void parkNanos(Object blocker, long nanos) {
        Thread self = Thread.currentThread();
        long deadline = lastLook.get() + nanos;
        parked.put(self, deadline);
        try {
            // An advance before this line is seen here, one after it unparks this thread.
            manual.parkNanos(blocker, deadline - manual.nanoTime());
        } finally {
            parked.remove(self);
        }
    }

    /** Lets time pass. Threads whose time has come run on meanwhile. */
    void advance(Duration duration) {
        manual.advance(duration);
        long now = manual.nanoTime();
        parked.forEach((thread, deadline) -> {
            if (deadline - now <= 0) {
                LockSupport.unpark(thread);
            }
        });
    }

    /** Lets time pass, and waits until the timer and the renewals of all clients have done what was due. */
    void advanceAndSettle(Duration duration) {
        advance(duration);
        settle();
    }

    /** Waits until the timer and the renewals of all clients have done what is due. */
    void settle() {
        Wait.until("the engine's timer and renewals are parked until later", this::isSettled);
    }

    /** Lets time pass in steps until something has come to be, and gives other threads a moment after each. */
    void advanceUntil(String what, Duration step, BooleanSupplier condition) {
        Wait.until(what, () -> {
            for (int breath = 0; breath < BREATHS && !condition.getAsBoolean(); breath++) {
                LockSupport.parkNanos(BREATH_NANOS);
            }
            if (condition.getAsBoolean()) {
                return true;
            }
            advance(step);
            return false;
        });
    }

    void stepWallClock(Duration step) {
        manual.stepWallClock(step);
    }

    boolean isParked(Thread thread) {
        return parked.containsKey(thread);
    }

    private boolean isSettled() {
        long now = manual.nanoTime();
        for (Thread thread : timersAndRenewals()) {
            Long deadline = parked.get(thread);
            if (!strangers.contains(thread) && (deadline == null || deadline - now <= 0)) {
                return false;
            }
        }
        return true;
    }

    private static Set<Thread> timersAndRenewals() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> PACED.contains(thread.getName()))
                .collect(Collectors.toSet());
    }

    @Override
    public String toString() {
        return manual.toString();
    }
}
