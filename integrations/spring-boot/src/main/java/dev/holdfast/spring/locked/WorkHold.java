package dev.holdfast.spring.locked;

import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * The lock of a method whose work goes on after it has returned. It is held until that work is complete, and until the transaction
 * in which it was begun is over: what the method has written on the caller's thread is committed with it. While the transaction
 * is open, further calls of its thread join the lock, one after the other.
 */
final class WorkHold implements HeldLock {

    private final LeaseHold held;
    private final List<CompletableFuture<Void>> works = new CopyOnWriteArrayList<>();
    private final CompletableFuture<Void> released = new CompletableFuture<>();
    /** Whether a method that begins work is on the thread. Used by the thread that took the lock. */
    private boolean isBeginning;
    /** Whether nothing more may begin: the lock is given up when what has begun is complete. */
    private volatile boolean isClosed;

    WorkHold(LeaseHold held) {
        this.held = held;
    }

    @Override
    public Lease lease() {
        return held.lease();
    }

    @Override
    public @Nullable LockLostException loss() {
        return held.loss();
    }

    /** A call that is skipped if the lock is busy takes the work of another call for that, and not for its own lock. */
    @Override
    public boolean covers(LockRequest other) {
        return held.covers(other) && (isBeginning || isIdle() || !other.method().skips());
    }

    /** Whether all work that was begun is complete. */
    boolean isIdle() {
        return works.stream().allMatch(CompletableFuture::isDone);
    }

    @Override
    public HeldLock joined() {
        if (!isBeginning && !isIdle()) {
            throw new LockException("Lock " + held.request().shown() + " is held for work that "
                    + held.request().method() + " has begun in this transaction, and that goes on: another call may"
                    + " not run beside it. Nothing was run; wait for its result before that call");
        }
        return HeldLock.super.joined();
    }

    /** Gives it up when all work is complete, before this returns if it is. Nothing begins under it any more. */
    @Override
    public void release() {
        isClosed = true;
        if (!isIdle()) {
            releaseWhenIdle();
            return;
        }
        try {
            held.release();
            released.complete(null);
        } catch (RuntimeException | Error lost) {
            released.completeExceptionally(lost);
            throw lost;
        }
    }

    /** The same without waiting for the store. */
    void releaseAsync() {
        isClosed = true;
        releaseWhenIdle();
    }

    private void releaseWhenIdle() {
        CompletableFuture.allOf(works.toArray(CompletableFuture[]::new))
                .thenCompose(done -> held.releaseAsync())
                .whenComplete((done, lost) -> {
                    if (lost == null) {
                        released.complete(null);
                    } else {
                        released.completeExceptionally(lost);
                    }
                });
    }

    /** Calls a method that begins work. */
    <T> Work<T> begin() {
        Work<T> work = new Work<>();
        works.add(work.done);
        isBeginning = true;
        return work;
    }

    /** What one call of a method has begun. */
    final class Work<T> {

        private final CompletableFuture<Void> done = new CompletableFuture<>();

        /** The method has returned, or has thrown. */
        void returned(@Nullable CompletionStage<T> stage) {
            isBeginning = false;
            if (stage == null) {
                done.complete(null);
            }
        }

        /** The result for the caller: complete when the lock has been given up, but for one that the transaction keeps. */
        CompletableFuture<T> result(CompletionStage<T> stage) {
            CompletableFuture<T> result = new CompletableFuture<>();
            stage.whenComplete((value, failure) -> {
                // The thread of an open transaction may wait for the result before it commits.
                done.complete(null);
                boolean isKept = !isClosed;
                if (isKept) {
                    complete(result, value, failure, loss());
                } else {
                    released.whenComplete((end, lost) -> complete(result, value, failure, lost));
                }
            });
            lease().onLost(reason -> {
                LockLostException loss = loss();
                if (loss != null && result.completeExceptionally(loss)) {
                    cancel(stage);
                }
            });
            result.whenComplete((value, failure) -> {
                if (result.isCancelled()) {
                    cancel(stage);
                }
            });
            return result;
        }
    }

    private static <T> void complete(
            CompletableFuture<T> result, T value, @Nullable Throwable failure, @Nullable Throwable lost) {
        Throwable loss =
                lost instanceof CompletionException wrapped && wrapped.getCause() != null ? wrapped.getCause() : lost;
        if (loss != null) {
            if (failure != null && failure != loss) {
                loss.addSuppressed(failure);
            }
            result.completeExceptionally(loss);
        } else if (failure != null) {
            result.completeExceptionally(failure);
        } else {
            result.complete(value);
        }
    }

    // Ends a stage that others compute, and with it the lock. The work itself goes on, unless it looks.
    private static void cancel(CompletionStage<?> work) {
        work.toCompletableFuture().cancel(true);
    }
}
