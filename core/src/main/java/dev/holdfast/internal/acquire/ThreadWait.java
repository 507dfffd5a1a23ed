package dev.holdfast.internal.acquire;

import dev.holdfast.LockException;
import dev.holdfast.LockObserver;
import dev.holdfast.LockObserver.Acquisition;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.cohort.CohortLock;
import dev.holdfast.internal.cohort.Waiter;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.internal.time.Uptime;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An acquisition by the calling thread, which parks while it waits. */
public final class ThreadWait extends Wait implements Waiter.Sleeper {

    private final Thread thread = Thread.currentThread();
    private final CohortLock lock;
    private final Waiter waiter;
    private final @Nullable Runnable firstStep;
    /** What observers have begun. Used by the thread itself only, as what follows. */
    private Map<LockObserver, Acquisition> started = Map.of();
    /** When the next pass is due. */
    private long until = Nanos.NEVER;

    // Under the mutex.
    private ThreadWait(Engine engine, LockSpec spec, CohortLock lock, boolean holds, long begun, long maxWait) {
        super(engine, spec, begun);
        this.lock = lock;
        this.waiter = newWaiter(
                thread,
                holds,
                maxWait == 0,
                Nanos.after(begun, maxWait),
                engine.locks().heldNames().copy(),
                this);
        try {
            lock.join(waiter);
            this.firstStep = lock.pass(waiter);
        } catch (Throwable failure) {
            // Also an Error: the others must not wait behind this.
            lock.abandon(waiter, Outcome.FAILED);
            throw failure;
        }
    }

    /**
     * Acquires for the calling thread.
     *
     * @param holds whether the hold becomes the thread's own, through {@code lock()}; if not, it is a lease
     * @param maxWait in nanoseconds; zero not to wait for the lock's turn; {@link dev.holdfast.internal.time.Nanos#NEVER} for
     *     no limit
     * @param interruptible whether an interrupt ends the wait; if not, the flag is kept
     * @return the hold; for {@code lock()} the thread's present one if this was a re-entry; null if it was not free in time
     */
    public static @Nullable Hold acquire(
            Engine engine, LockSpec spec, boolean holds, long maxWait, boolean interruptible)
            throws InterruptedException {
        Thread thread = Thread.currentThread();
        long begun = engine.now();
        CohortLock lock = engine.locks().enter(spec.name());
        boolean isReentry = false;
        Hold here = null;
        ThreadWait wait = null;
        RuntimeException refused = null;
        try {
            isReentry = holds && lock.isLockedBy(thread);
            here = lock.takeHere(spec, thread, holds, maxWait != 0);
            if (here == null && (maxWait != 0 || !lock.isKnownBusy(spec, thread))) {
                wait = new ThreadWait(engine, spec, lock, holds, begun, maxWait);
            }
        } catch (LockException cause) {
            refused = cause;
        } finally {
            lock.leave();
        }
        if (isReentry && here != null) {
            return here;
        }
        Map<LockObserver, Acquisition> started = observeStart(engine, spec);
        if (refused != null) {
            observe(engine, spec, started, Outcome.FAILED, begun);
            throw refused;
        }
        if (wait == null) {
            observe(engine, spec, started, here != null ? Outcome.ACQUIRED : Outcome.BUSY, begun);
        } else {
            wait.started = started;
            here = wait.await(interruptible);
        }
        if (here != null && holds) {
            engine.locks().heldNames().add(spec.name());
        }
        return here;
    }

    // The thread itself looks before it parks. Unparked, it would not park the next time, perhaps in the program.
    @Override
    public void wake() {
        if (thread != Thread.currentThread()) {
            lock.wake(thread);
        }
    }

    @Override
    public void sleepUntil(long at) {
        until = at;
    }

    private @Nullable Hold await(boolean interruptible) throws InterruptedException {
        boolean interrupted = false;
        try {
            if (firstStep != null) {
                firstStep.run();
            }
            while (!waiter.isDone()) {
                lock.advance(waiter);
                if (!waiter.isDone() && !waiter.isWoken() && !thread.isInterrupted()) {
                    engine.time().park(waiter, Math.min(until - engine.now(), Uptime.LONGEST_PARK_NANOS));
                }
                if (Thread.interrupted()) {
                    interrupted = !interruptible || !lock.abandon(waiter, Outcome.INTERRUPTED);
                }
            }
        } finally {
            // Not done means that something was thrown which should not have been; the others must not wait behind it.
            lock.abandon(waiter, Outcome.FAILED);
            if (interrupted) {
                thread.interrupt();
            }
        }
        return ended();
    }

    private @Nullable Hold ended() throws InterruptedException {
        Outcome outcome = waiter.outcome();
        if (waiter.leaving() != null && outcome != Outcome.FAILED) {
            engine.calls().joinQuietly(waiter.leaving(), LEAVING_NANOS);
        }
        observe(engine, spec, started, outcome, begun);
        if (outcome == Outcome.INTERRUPTED) {
            throw new InterruptedException("Interrupted while waiting for lock \"" + spec.name() + "\"");
        }
        return waiter.hold();
    }
}
