package dev.holdfast.internal;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** How a thread waits for the store: for an answer, for a limited time, on the injected clock. */
final class Answers {

    private final MonotonicClock clock;
    private final long origin;

    Answers(MonotonicClock clock, long origin) {
        this.clock = clock;
        this.origin = origin;
    }

    private long now() {
        return clock.nanoTime() - origin;
    }

    /** Waits for a store's answer, without regard to interrupts, whose flag is kept. */
    <T> T join(Supplier<CompletionStage<T>> call, long timeout) {
        try {
            return join(call, timeout, false);
        } catch (InterruptedException impossible) {
            throw new AssertionError("This wait is not interruptible", impossible);
        }
    }

    /** Waits for a store's answer. Whoever is interrupted must take the call for one with an unknown outcome. */
    <T> T join(Supplier<CompletionStage<T>> call, long timeout, boolean interruptible) throws InterruptedException {
        CompletableFuture<T> answer;
        try {
            answer = call.get().toCompletableFuture();
        } catch (RuntimeException failure) {
            throw StoreException.of(failure);
        }
        if (!isDoneWithin(answer, timeout, interruptible)) {
            String message = "No answer from the store within " + timeout / 1_000_000 + " ms";
            throw StoreException.unavailable(Effect.UNKNOWN, message, null);
        }
        try {
            return answer.join();
        } catch (CompletionException failure) {
            throw StoreException.of(failure);
        }
    }

    /** The value of a future that never fails; null if it does not come in time. */
    <T> @Nullable T joinQuietly(CompletableFuture<@Nullable T> future, long timeout) {
        try {
            return isDoneWithin(future, timeout, false) ? future.join() : null;
        } catch (InterruptedException impossible) {
            throw new AssertionError("This wait is not interruptible", impossible);
        }
    }

    private boolean isDoneWithin(CompletableFuture<?> future, long timeout, boolean interruptible)
            throws InterruptedException {
        if (future.isDone()) {
            return true;
        }
        long deadline = Times.after(now(), timeout);
        Thread waiting = Thread.currentThread();
        future.whenComplete((value, failure) -> LockSupport.unpark(waiting));
        boolean interrupted = false;
        while (!future.isDone() && now() < deadline) {
            clock.parkNanos(future, deadline - now());
            interrupted |= Thread.interrupted();
            if (interrupted && interruptible) {
                throw new InterruptedException("Interrupted while waiting for the store");
            }
        }
        if (interrupted) {
            waiting.interrupt();
        }
        return future.isDone();
    }

    /** Lets the calling thread wait, without regard to interrupts, whose flag is kept. */
    void pause(long nanos) {
        joinQuietly(new CompletableFuture<@Nullable Object>(), nanos);
    }
}
