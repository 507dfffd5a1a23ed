package dev.holdfast.spring.actuate;

import dev.holdfast.Holdfast;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import org.jspecify.annotations.Nullable;

/**
 * Asks the store whether it answers. One question at a time is under way, whoever wants to know: a store that hangs, which the client
 * gives up after 10 s, takes one thread and not one for each who asks. Thread-safe.
 */
final class StoreProbe {

    /** No lock: the store is asked who holds it, and nothing is written. */
    static final String NAME = "holdfast-health";

    private final Holdfast locks;
    private final ThreadFactory threads;
    private @Nullable CompletableFuture<Duration> underWay;

    StoreProbe(Holdfast locks, ThreadFactory threads) {
        this.locks = locks;
        this.threads = threads;
    }

    /** How long the store took to answer the question that is under way, or else a new one; or why it did not. */
    synchronized CompletableFuture<Duration> ask() {
        CompletableFuture<Duration> answer = underWay;
        if (answer == null || answer.isDone()) {
            answer = new CompletableFuture<>();
            underWay = answer;
            begin(answer);
        }
        return answer;
    }

    // Some stores keep the thread that asks until they answer, so this must not be a thread of the server's.
    private void begin(CompletableFuture<Duration> answer) {
        try {
            Thread thread = threads.newThread(() -> ask(answer));
            thread.setName(NAME);
            thread.setDaemon(true);
            thread.start();
        } catch (Throwable failure) {
            // No thread can be had for the moment: the next one who asks must not wait for this question.
            answer.completeExceptionally(failure);
        }
    }

    private void ask(CompletableFuture<Duration> answer) {
        long begun = MonotonicClock.SYSTEM.nanoTime();
        try {
            locks.state(NAME);
            answer.complete(Duration.ofNanos(MonotonicClock.SYSTEM.nanoTime() - begun));
        } catch (Throwable failure) {
            answer.completeExceptionally(failure);
        }
    }
}
