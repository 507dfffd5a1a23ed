package dev.holdfast.internal;

import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.LockTimeoutException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition without a thread: each pass is made on the dispatcher, when the waiter is signalled or its time has come.
 * The future is completed on the callback executor, so that no code of the user's runs on a thread of the engine's.
 */
final class FutureAcquisition {

    private final Engine engine;
    private final Request request;
    private final CompletableFuture<Lease> future = new CompletableFuture<>();
    private final AtomicBoolean completed = new AtomicBoolean();
    private final Waiter waiter;
    private final Resource resource;
    private final long begun;
    /** The earliest alarm that is set, so that passes do not set one each. Guarded by this. */
    private long alarmAt = Long.MAX_VALUE;

    private FutureAcquisition(Engine engine, Request request, long maxWait) {
        this.engine = engine;
        this.request = request;
        this.begun = engine.now();
        long deadline = maxWait >= Long.MAX_VALUE - begun ? Long.MAX_VALUE : begun + maxWait;
        this.waiter = Waiter.ofFuture(request, begun, deadline, this::dispatchPass);
        this.resource = engine.enter(request.name());
        try {
            Hold here = resource.takeLocal(request, null, false);
            if (here == null) {
                resource.join(waiter);
            } else {
                waiter.succeed(here);
            }
        } finally {
            resource.retireIfUnused();
            resource.mutex().unlock();
        }
    }

    static CompletableFuture<Lease> start(Engine engine, Request request, long maxWait) {
        FutureAcquisition acquisition;
        try {
            engine.beginFuture();
        } catch (LockException tooMany) {
            return CompletableFuture.failedFuture(tooMany);
        }
        try {
            acquisition = new FutureAcquisition(engine, request, maxWait);
        } catch (RuntimeException refused) {
            engine.endFuture();
            return CompletableFuture.failedFuture(refused);
        }
        acquisition.future.whenComplete((lease, failure) -> {
            if (acquisition.future.isCancelled()) {
                acquisition.cancelled();
            }
        });
        acquisition.dispatchPass();
        return acquisition.future;
    }

    private void dispatchPass() {
        engine.dispatch(this::pass);
    }

    private void pass() {
        long until = resource.advance(waiter);
        if (waiter.isDone()) {
            complete();
        } else if (until != Long.MAX_VALUE) {
            setAlarm(until);
        }
    }

    private synchronized void setAlarm(long until) {
        if (until < alarmAt || alarmAt <= engine.now()) {
            alarmAt = until;
            engine.timer().alarm(until, this::dispatchPass);
        }
    }

    private void complete() {
        if (!completed.compareAndSet(false, true)) {
            return;
        }
        engine.endFuture();
        Hold hold;
        try {
            hold = waiter.outcome();
        } catch (RuntimeException failure) {
            engine.observeEnd(request.name(), Outcome.FAILED, begun);
            engine.callBack(() -> future.completeExceptionally(failure));
            return;
        }
        engine.observeEnd(request.name(), outcome(hold), begun);
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

    private Outcome outcome(@Nullable Hold hold) {
        if (hold != null) {
            return Outcome.ACQUIRED;
        }
        return future.isCancelled() ? Outcome.CANCELLED : Outcome.TIMED_OUT;
    }

    // If the waiter was done already, complete() finds that nobody wants the lease and gives it back.
    private void cancelled() {
        if (resource.abandon(waiter)) {
            complete();
        }
    }

    static LockTimeoutException timedOut(Engine engine, Request request) {
        return new LockTimeoutException("Lock \"" + request.name() + "\" was not free in time for client "
                + engine.clientId() + ". Nothing is held and nothing waits; state() tells who holds it");
    }
}
