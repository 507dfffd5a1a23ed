package dev.holdfast.spring.locked;

import dev.holdfast.LockLostException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The result of a method that goes on after it has returned: it is complete when the lock has been given up. */
final class LockedFuture {

    private LockedFuture() {}

    static <T> CompletableFuture<T> of(CompletionStage<T> work, LeaseHold held) {
        CompletableFuture<T> result = new CompletableFuture<>();
        work.whenComplete((value, failure) ->
                held.releaseAsync().whenComplete((released, lost) -> complete(result, value, failure, lost)));
        held.lease().onLost(reason -> {
            LockLostException loss = held.loss();
            if (loss != null && result.completeExceptionally(loss)) {
                cancel(work);
            }
        });
        result.whenComplete((value, failure) -> {
            if (result.isCancelled()) {
                cancel(work);
            }
        });
        return result;
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
