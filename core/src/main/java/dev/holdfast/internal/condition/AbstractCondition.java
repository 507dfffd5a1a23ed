package dev.holdfast.internal.condition;

import dev.holdfast.internal.Engine;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.internal.time.Uptime;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * What all conditions do: a thread enters the wait set, gives up the lock, waits, leaves the wait set, and takes the lock
 * back.
 *
 * <p>It enters before it gives up the lock. So whoever gets the lock next, and signals, finds it there: no signal is lost.
 */
abstract class AbstractCondition implements Condition {

    final Engine engine;
    final ConditionLock lock;

    AbstractCondition(Engine engine, ConditionLock lock) {
        this.engine = engine;
        this.lock = lock;
    }

    /**
     * The calling thread enters the wait set.
     *
     * @throws RuntimeException if that was not possible; it then has no place
     */
    abstract Place enter();

    /** How long a wait without a time limit takes at most before the thread looks for itself; in nanoseconds. */
    abstract long longestWait();

    /** Wakes the thread that has waited longest, or all that wait now. */
    abstract void wake(boolean all);

    /** The calling thread cannot act on a signal, because it does not hold the lock: the next one gets it. Never fails. */
    abstract void passOn();

    @Override
    public final void await() throws InterruptedException {
        waitFor(Nanos.NEVER, true);
    }

    @Override
    public final void awaitUninterruptibly() {
        try {
            waitFor(Nanos.NEVER, false);
        } catch (InterruptedException impossible) {
            throw new AssertionError("This wait is not interruptible", impossible);
        }
    }

    @Override
    public final long awaitNanos(long nanosTimeout) throws InterruptedException {
        long deadline = Nanos.after(engine.now(), Math.max(0, nanosTimeout));
        waitFor(Math.max(0, nanosTimeout), true);
        return deadline - engine.now();
    }

    @Override
    public final boolean await(long time, TimeUnit unit) throws InterruptedException {
        return waitFor(Math.max(0, unit.toNanos(time)), true);
    }

    @Override
    @SuppressWarnings("JavaUtilDate") // the interface has it
    public final boolean awaitUntil(Date deadline) throws InterruptedException {
        long now = engine.time().clock().epochMicros() / 1_000;
        long millis = deadline.getTime() <= now ? 0 : deadline.getTime() - now;
        return waitFor(TimeUnit.MILLISECONDS.toNanos(millis), true);
    }

    @Override
    public final void signal() {
        lock.requireHeld();
        wake(false);
    }

    @Override
    public final void signalAll() {
        lock.requireHeld();
        wake(true);
    }

    /**
     * @param maxWait in nanoseconds; {@link Nanos#NEVER} for no limit
     * @return false if the time was over before a signal came
     */
    private boolean waitFor(long maxWait, boolean interruptible) throws InterruptedException {
        lock.requireHeld();
        if (interruptible && Thread.interrupted()) {
            throw interrupted();
        }
        engine.waitSets().beginWait();
        try {
            return enterAndWait(Nanos.after(engine.now(), maxWait), interruptible);
        } finally {
            engine.waitSets().endWait();
        }
    }

    private boolean enterAndWait(long deadline, boolean interruptible) throws InterruptedException {
        Place place = enter();
        int holds = giveUpLock(place);
        boolean interrupted = park(place, deadline, interruptible);
        boolean inTime = engine.now() < deadline;
        boolean signalled = place.leave();
        boolean mayThrow = interrupted && interruptible && !signalled;
        boolean takenBack = false;
        try {
            lock.takeBack(holds);
            takenBack = true;
        } finally {
            // An interrupt that came after the signal, or beside another failure, is kept for the caller.
            if (interrupted && !(mayThrow && takenBack)) {
                Thread.currentThread().interrupt();
            }
            if (signalled && !takenBack) {
                passOn();
            }
        }
        if (mayThrow) {
            throw interrupted();
        }
        return signalled || inTime;
    }

    private int giveUpLock(Place place) {
        boolean givenUp = false;
        try {
            int holds = lock.giveUp();
            givenUp = true;
            return holds;
        } finally {
            if (!givenUp && (place.leave() || place.mayHaveMissedSignal())) {
                passOn();
            }
        }
    }

    // Returns whether the thread was interrupted.
    private boolean park(Place place, long deadline, boolean interruptible) {
        long until = Math.min(deadline, Nanos.after(engine.now(), longestWait()));
        boolean interrupted = false;
        while (!place.isWoken() && !(interrupted && interruptible)) {
            long left = until - engine.now();
            if (left <= 0) {
                break;
            }
            engine.time().park(place, Math.min(left, Uptime.LONGEST_PARK_NANOS));
            interrupted |= Thread.interrupted();
        }
        return interrupted;
    }

    private InterruptedException interrupted() {
        return new InterruptedException("Interrupted while waiting for " + this);
    }
}
