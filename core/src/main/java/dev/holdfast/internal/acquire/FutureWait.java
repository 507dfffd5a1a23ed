package dev.holdfast.internal.acquire;

import dev.holdfast.Lease;
import dev.holdfast.LockObserver;
import dev.holdfast.LockObserver.Acquisition;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.cohort.CohortLock;
import dev.holdfast.internal.cohort.Waiter;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Alarm;
import dev.holdfast.internal.time.Nanos;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition without a thread: each pass is made on a thread of the engine, when the waiter is signalled or its time has
 * come.
 */
public final class FutureWait extends Wait implements Waiter.Sleeper {

    private final Owner owner;
    private final Predicate<Runnable> lane;
    private final Consumer<Result> listener;
    private final Alarm alarm = new Alarm(this::wake);
    private final AtomicBoolean ended = new AtomicBoolean();
    private volatile @Nullable CohortLock lock;
    private volatile @Nullable Waiter waiter;

    /**
     * What came out.
     *
     * @param hold null if there is none
     * @param failure null if it did not fail
     */
    record Result(
            Outcome outcome, @Nullable Hold hold, @Nullable Throwable failure) {}

    /**
     * @param lane runs the passes, on threads that may block; false if it is closed
     * @param listener is notified once of the end, on any thread; must not block
     */
    FutureWait(Engine engine, LockSpec spec, Owner owner, Predicate<Runnable> lane, Consumer<Result> listener) {
        super(engine, spec, engine.now());
        this.owner = owner;
        this.lane = lane;
        this.listener = listener;
    }

    /**
     * Acquires for a future, which is completed by the executor for code of users. A future that the user completes himself,
     * by a cancel or a time-out of his own, is given up.
     *
     * @param maxWait in nanoseconds; zero not to wait for the lock's turn; {@link Nanos#NEVER} for no limit
     */
    public static CompletableFuture<Lease> acquire(Engine engine, LockSpec spec, long maxWait) {
        CompletableFuture<Lease> future = new CompletableFuture<>();
        try {
            engine.beginFuture();
        } catch (RuntimeException tooMany) {
            return CompletableFuture.failedFuture(tooMany);
        }
        FutureWait[] self = new FutureWait[1];
        Map<LockObserver, Acquisition> started = observeStart(engine, spec);
        FutureWait wait = new FutureWait(engine, spec, Owner.NOBODY, engine::dispatch, result -> {
            engine.endFuture();
            engine.callbacks().run(() -> self[0].deliver(result, started, future));
        });
        self[0] = wait;
        wait.start(maxWait == 0, Nanos.after(wait.begun, maxWait), List.of());
        future.whenComplete((lease, failure) -> wait.cancel());
        return future;
    }

    /**
     * Acquires for a part of the engine, without a limit. Only a cancel ends it with neither a hold nor a failure.
     *
     * @param listener gets what came out, once, on any thread; must neither block nor run code of the user's
     */
    public static FutureWait acquire(
            Engine engine, LockSpec spec, BiConsumer<@Nullable Hold, @Nullable Throwable> listener) {
        engine.beginFuture();
        long begun = engine.now();
        FutureWait wait = new FutureWait(engine, spec, Owner.NOBODY, engine::dispatch, result -> {
            engine.endFuture();
            observeLater(engine, spec, result.outcome(), begun);
            listener.accept(result.hold(), result.failure());
        });
        wait.start(false, Nanos.NEVER, List.of());
        return wait;
    }

    private void deliver(Result result, Map<LockObserver, Acquisition> started, CompletableFuture<Lease> future) {
        observe(engine, spec, started, result.outcome(), begun);
        if (result.failure() != null) {
            future.completeExceptionally(result.failure());
        } else if (result.hold() == null) {
            future.completeExceptionally(timedOut(engine, List.of(spec), begun));
        } else if (!future.complete(result.hold())) {
            result.hold().releaseAsync();
        }
    }

    /**
     * Begins. What goes wrong is a result, too.
     *
     * @param once not to wait for the lock's turn
     * @param deadline when the wait is over; may be past, and then the lock is asked for all the same
     * @param held the names that the owner's thread holds already
     */
    void start(boolean once, long deadline, List<String> held) {
        Hold here = null;
        Throwable refused = null;
        CohortLock entered = engine.locks().enter(spec.name());
        try {
            here = entered.takeHere(spec, owner.thread(), owner.holds(), !once);
            if (here == null && (!once || !entered.isKnownBusy(spec, owner.thread()))) {
                lock = entered;
                waiter = newWaiter(owner.thread(), owner.holds(), once, deadline, held, this);
                entered.join(waiter);
            }
        } catch (Throwable cause) {
            refused = cause;
        } finally {
            entered.leave();
        }
        if (refused != null) {
            fail(refused);
        } else if (waiter == null) {
            end(new Result(here != null ? Outcome.ACQUIRED : Outcome.BUSY, here, null));
        } else {
            try {
                // What it claims to send, it sends at once: the lane may have much to do before.
                dispatch(this::pass);
            } catch (Throwable noMemory) {
                fail(noMemory);
            }
        }
    }

    // In this order: the end of the waiter reports an outcome without the cause, if nothing was reported before.
    private void fail(Throwable cause) {
        end(new Result(Outcome.FAILED, null, cause));
        abandon(Outcome.FAILED);
    }

    /** Gives it up, unless it has ended. */
    public void cancel() {
        // The waiter is signalled by its end, so that a pass reports it.
        abandon(Outcome.CANCELLED);
    }

    /** A pass may block. Once it is done there is nothing to ask for, so that its end need not wait for others' requests. */
    @Override
    public void wake() {
        Waiter mine = waiter;
        if (mine == null || !mine.isDone() || owner.thread() != null || !engine.dispatchEnd(this::pass)) {
            dispatch(this::pass);
        }
    }

    // Under the mutex, so that a pass that was overtaken cannot set an older time.
    @Override
    public void sleepUntil(long at) {
        engine.losses().schedule(alarm, at);
    }

    private void dispatch(Runnable work) {
        boolean dispatched = lane.test(() -> {
            try {
                work.run();
            } catch (Throwable failure) {
                // Also an Error: the others must not wait behind this.
                fail(failure);
            }
        });
        if (!dispatched) {
            // On another thread, because this one may have a mutex.
            engine.callbacks().run(() -> fail(engine.closedException(spec.name())));
        }
    }

    private void abandon(Outcome outcome) {
        CohortLock cohort = lock;
        Waiter mine = waiter;
        if (cohort != null && mine != null) {
            cohort.abandon(mine, outcome);
        }
    }

    private void pass() {
        CohortLock cohort = lock;
        Waiter mine = waiter;
        if (cohort == null || mine == null) {
            return;
        }
        cohort.advance(mine);
        if (!mine.isDone()) {
            return;
        }
        CompletableFuture<?> leaving = mine.leaving();
        Result result = new Result(mine.outcome(), mine.failure() == null ? mine.hold() : null, mine.failure());
        if (leaving == null || result.failure() != null) {
            end(result);
        } else {
            engine.calls()
                    .within(leaving.copy(), LEAVING_NANOS, engine.losses())
                    .whenComplete((released, late) -> end(result));
        }
    }

    private void end(Result result) {
        if (ended.compareAndSet(false, true)) {
            engine.losses().remove(alarm);
            listener.accept(result);
        }
    }
}
