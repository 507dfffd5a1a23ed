package dev.holdfast.internal.calls;

import dev.holdfast.internal.time.Agenda;
import dev.holdfast.internal.time.Alarm;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.internal.time.Uptime;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** How a thread waits for an answer of the store: for a limited time, on the injected clock, without regard to interrupts. */
public final class StoreCalls {

    private final Uptime time;

    public StoreCalls(Uptime time) {
        this.time = time;
    }

    /**
     * Makes a call and waits for its answer. An interrupt does not end the wait; the flag is kept.
     *
     * @throws StoreException if the call fails, or is not answered within {@code timeout} nanoseconds
     */
    public <T> T join(Supplier<CompletionStage<T>> call, long timeout) {
        CompletableFuture<T> answer;
        try {
            answer = call.get().toCompletableFuture();
        } catch (RuntimeException failure) {
            throw StoreException.of(failure);
        }
        if (!isDoneWithin(answer, timeout)) {
            throw noAnswer(timeout);
        }
        try {
            return answer.join();
        } catch (CompletionException failure) {
            throw StoreException.of(failure);
        }
    }

    /** The value of a future that never fails; null if it does not come in time. */
    public <T> @Nullable T joinQuietly(CompletableFuture<@Nullable T> future, long timeout) {
        return isDoneWithin(future, timeout) ? future.join() : null;
    }

    /** The same future, which fails with an unknown outcome if it is not complete within {@code timeout} nanoseconds. */
    public <T> CompletableFuture<T> within(CompletableFuture<T> future, long timeout, Agenda<Alarm> alarms) {
        if (!future.isDone()) {
            Alarm late = new Alarm(() -> future.completeExceptionally(noAnswer(timeout)));
            alarms.schedule(late, Nanos.after(time.now(), timeout));
            future.whenComplete((value, failure) -> alarms.remove(late));
        }
        return future;
    }

    private static StoreException noAnswer(long timeout) {
        String message = "No answer from the store within " + timeout / 1_000_000 + " ms";
        return StoreException.unavailable(Effect.UNKNOWN, message, null);
    }

    private boolean isDoneWithin(CompletableFuture<?> future, long timeout) {
        if (future.isDone()) {
            return true;
        }
        long deadline = Nanos.after(time.now(), timeout);
        Thread waiting = Thread.currentThread();
        future.whenComplete((value, failure) -> LockSupport.unpark(waiting));
        boolean interrupted = false;
        while (!future.isDone() && time.now() < deadline) {
            time.park(future, deadline - time.now());
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            waiting.interrupt();
        }
        return future.isDone();
    }
}
