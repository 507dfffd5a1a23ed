package dev.holdfast.internal;

import dev.holdfast.Lease;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.internal.Acquisition.Owner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition without a thread: each pass is made on the dispatcher, when the waiter is signalled or its time has come.
 * The future is completed on the callback executor, so that no code of the user's runs on a thread of the engine's. A
 * future that the user completes himself (by a cancel or a time-out of his own) is given up.
 */
final class FutureAcquisition {

    private final Engine engine;
    private final Request request;
    private final CompletableFuture<Lease> future = new CompletableFuture<>();
    private final AtomicBoolean ended = new AtomicBoolean();
    private final Waiter waiter;
    private final Resource resource;
    private final long begun;
    /** The one alarm that is set, so that passes do not set one each. Guarded by this. */
    private Timer.@Nullable Alarm alarm;

    private FutureAcquisition(Engine engine, Request request, long maxWait) {
        this.engine = engine;
        this.request = request;
        this.begun = engine.now();
        this.waiter = Waiter.ofFuture(request, begun, Times.after(begun, maxWait), this::dispatchPass);
        this.resource = engine.enter(request.name());
        try {
            Hold here = resource.takeLocal(request, null, false);
            if (here == null) {
                resource.queue().join(waiter);
            } else {
                waiter.succeed(here);
            }
        } finally {
            resource.retireIfUnused();
            resource.mutex().unlock();
        }
    }

    /** Acquires within a time; a time of zero makes one attempt. The future fails with what {@code acquire} throws. */
    static CompletableFuture<Lease> start(Engine engine, Request request, long maxWait) {
        try {
            engine.beginFuture();
        } catch (RuntimeException tooMany) {
            return CompletableFuture.failedFuture(tooMany);
        }
        if (maxWait == 0) {
            return tryOnce(engine, request);
        }
        FutureAcquisition acquisition;
        try {
            acquisition = new FutureAcquisition(engine, request, maxWait);
        } catch (RuntimeException refused) {
            engine.endFuture();
            return CompletableFuture.failedFuture(refused);
        }
        acquisition.future.whenComplete((lease, failure) -> acquisition.userIsDone());
        acquisition.dispatchPass();
        return acquisition.future;
    }

    private static CompletableFuture<Lease> tryOnce(Engine engine, Request request) {
        CompletableFuture<Lease> future = new CompletableFuture<>();
        boolean dispatched = engine.dispatch(() -> {
            try {
                Hold hold = new Acquisition(engine, request, Owner.FUTURE).tryNow();
                engine.endFuture();
                deliver(engine, request, hold, future);
            } catch (Throwable failure) {
                engine.endFuture();
                engine.callBack(() -> future.completeExceptionally(failure));
            }
        });
        if (!dispatched) {
            engine.endFuture();
            future.completeExceptionally(engine.closedException(request.name()));
        }
        return future;
    }

    private static void deliver(Engine engine, Request request, @Nullable Hold hold, CompletableFuture<Lease> future) {
        if (hold == null) {
            engine.callBack(() -> future.completeExceptionally(timedOut(engine, request)));
            return;
        }
        HoldLease lease = new HoldLease(engine, hold);
        engine.callBack(() -> {
            if (!future.complete(lease)) {
                lease.releaseAsync();
            }
        });
    }

    private void dispatchPass() {
        if (!engine.dispatch(this::pass)) {
            resource.abandon(waiter);
            fail(engine.closedException(request.name()));
        }
    }

    private void pass() {
        long until;
        try {
            until = resource.queue().advance(waiter);
        } catch (Throwable failure) {
            resource.abandon(waiter);
            fail(failure);
            return;
        }
        if (waiter.isDone()) {
            end();
        } else if (until != Long.MAX_VALUE) {
            setAlarm(until);
        }
    }

    private synchronized void setAlarm(long until) {
        if (ended.get() || (alarm != null && alarm.at() > engine.now() && alarm.at() <= until)) {
            return;
        }
        if (alarm != null) {
            engine.timer().cancel(alarm);
        }
        alarm = engine.timer().alarm(until, this::dispatchPass);
    }

    private synchronized boolean isFirstEnd() {
        if (!ended.compareAndSet(false, true)) {
            return false;
        }
        if (alarm != null) {
            engine.timer().cancel(alarm);
        }
        engine.endFuture();
        return true;
    }

    private void end() {
        Hold hold;
        try {
            hold = waiter.outcome();
        } catch (RuntimeException failure) {
            fail(failure);
            return;
        }
        if (isFirstEnd()) {
            engine.observeEnd(request.name(), outcome(hold), begun);
            deliver(engine, request, hold, future);
        }
    }

    private void fail(Throwable failure) {
        if (isFirstEnd()) {
            engine.observeEnd(request.name(), Outcome.FAILED, begun);
            engine.callBack(() -> future.completeExceptionally(failure));
        }
    }

    private Outcome outcome(@Nullable Hold hold) {
        if (hold != null) {
            return Outcome.ACQUIRED;
        }
        return future.isDone() ? Outcome.CANCELLED : Outcome.TIMED_OUT;
    }

    // If the waiter was done already, the delivery finds that nobody wants the lease and gives it back.
    private void userIsDone() {
        if (resource.abandon(waiter)) {
            end();
        }
    }

    static LockTimeoutException timedOut(Engine engine, Request request) {
        return new LockTimeoutException("Lock \"" + request.name() + "\" was not free in time for client "
                + engine.clientId() + ". Nothing is held and nothing waits; state() tells who holds it");
    }
}
