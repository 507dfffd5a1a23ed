package dev.holdfast.redis.client;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Repeats calls that a cluster refuses because their slot is being moved and their keys are at two nodes, or one of them
 * does not exist. Such a call has had no effect. No thread waits between two attempts.
 */
public final class DividedCalls {

    /** The pause before the first repetition. Each further pause is twice as long. */
    static final Duration FIRST_PAUSE = Duration.ofMillis(5);

    /** The longest pause. */
    static final Duration LONGEST_PAUSE = Duration.ofMillis(100);

    private final Duration patience;
    private final MonotonicClock clock;
    private final Function<Duration, Executor> later;

    /** @param patience how long after the beginning of a call its last repetition may begin */
    public DividedCalls(Duration patience, MonotonicClock clock) {
        this(
                patience,
                clock,
                delay -> CompletableFuture.delayedExecutor(delay.toNanos(), TimeUnit.NANOSECONDS, Runnable::run));
    }

    /** @param later returns an executor that runs its tasks after the given delay */
    DividedCalls(Duration patience, MonotonicClock clock, Function<Duration, Executor> later) {
        this.patience = patience;
        this.clock = clock;
        this.later = later;
    }

    /**
     * Makes a call, and repeats it while it is refused for this reason and there is time.
     *
     * @param first makes the first attempt
     * @param again makes a further attempt; it must not block, because it runs on a thread that all share
     */
    public <T> CompletionStage<T> call(Supplier<CompletionStage<T>> first, Supplier<CompletionStage<T>> again) {
        long deadline = clock.nanoTime() + patience.toNanos();
        return repeated(first.get(), again, FIRST_PAUSE, deadline);
    }

    private <T> CompletionStage<T> repeated(
            CompletionStage<T> attempt, Supplier<CompletionStage<T>> again, Duration pause, long deadline) {
        return attempt.exceptionallyCompose(failure -> {
            StoreException why = StoreException.of(failure);
            if (!ServerError.isDivided(why) || clock.nanoTime() + pause.toNanos() - deadline > 0) {
                return CompletableFuture.failedStage(why);
            }
            Duration twice = pause.multipliedBy(2);
            Duration next = twice.compareTo(LONGEST_PAUSE) < 0 ? twice : LONGEST_PAUSE;
            return CompletableFuture.supplyAsync(again, later.apply(pause))
                    .thenCompose(other -> repeated(other, again, next, deadline));
        });
    }
}
