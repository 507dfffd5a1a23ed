package dev.holdfast.internal;

import dev.holdfast.Lease;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;

/** Acquires several names without a thread, one after the other in the order of their names. */
final class MultiFuture {

    private final Engine engine;
    private final List<Request> requests;
    private final long deadline;
    private final CompletableFuture<Lease> future = new CompletableFuture<>();
    private final List<Hold> holds = new ArrayList<>();
    private volatile boolean unwanted;
    private volatile CompletableFuture<Lease> step = new CompletableFuture<>();

    private MultiFuture(Engine engine, List<Request> requests, long maxWait) {
        this.engine = engine;
        this.requests = requests;
        long begun = engine.now();
        this.deadline = Times.after(begun, maxWait);
    }

    static CompletableFuture<Lease> start(Engine engine, List<Request> requests, long maxWait) {
        MultiFuture all = new MultiFuture(engine, requests, maxWait);
        all.future.whenComplete((lease, failure) -> {
            // Cancelled, or completed by somebody else, such as its time-out: nobody wants the locks any more.
            all.unwanted = true;
            all.step.cancel(false);
        });
        all.next();
        return all.future;
    }

    // Each step begins when the one before has ended, so that the list is used by one thread at a time.
    private void next() {
        // With no time left, each is still asked for once, without waiting.
        long left = deadline == Long.MAX_VALUE ? deadline : Math.max(0, deadline - engine.now());
        Request request = requests.get(holds.size()).renewedWithoutEnd();
        CompletableFuture<Lease> started = FutureAcquisition.start(engine, request, left);
        step = started;
        if (unwanted) {
            started.cancel(false);
        }
        started.whenComplete((lease, failure) -> {
            if (failure != null) {
                rollBack(failure);
                return;
            }
            holds.add(((HoldLease) lease).hold());
            if (unwanted) {
                rollBack(new CancellationException());
            } else if (holds.size() < requests.size()) {
                next();
            } else {
                if (!engine.dispatch(this::complete)) {
                    rollBack(engine.closedException(request.name()));
                }
            }
        });
    }

    private void complete() {
        try {
            MultiAcquisition.begin(engine, requests.get(0), holds);
        } catch (RuntimeException lostMeanwhile) {
            rollBack(lostMeanwhile);
            return;
        }
        MultiLease lease = new MultiLease(engine, holds);
        engine.callBack(() -> {
            if (!future.complete(lease)) {
                lease.releaseAsync();
            }
        });
    }

    private void rollBack(Throwable cause) {
        if (!holds.isEmpty()) {
            new MultiLease(engine, holds).releaseAsync();
        }
        engine.callBack(() -> future.completeExceptionally(cause));
    }
}
