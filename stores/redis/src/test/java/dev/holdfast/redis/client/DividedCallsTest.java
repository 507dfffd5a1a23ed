package dev.holdfast.redis.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

/** When a call whose keys are at two nodes is repeated. */
class DividedCallsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(1);
    private static final StoreException DIVIDED =
            ServerError.of("TRYAGAIN Multiple keys request during rehashing of slot", "name", null);

    private final ManualClock clock = new ManualClock();
    private final List<Duration> pauses = new ArrayList<>();
    private final List<Runnable> waiting = new ArrayList<>();
    private final DividedCalls calls = new DividedCalls(PATIENCE, clock, this::after);

    private Executor after(Duration pause) {
        pauses.add(pause);
        return waiting::add;
    }

    private void passPause() {
        clock.advance(pauses.get(pauses.size() - 1));
        waiting.remove(0).run();
    }

    private static <T> CompletionStage<T> failed(StoreException failure) {
        return CompletableFuture.failedStage(failure);
    }

    @Test
    void pausesGrowAndTheLastRepetitionBeginsInTime() {
        CompletableFuture<String> call =
                calls.<String>call(() -> failed(DIVIDED), () -> failed(DIVIDED)).toCompletableFuture();
        long start = clock.nanoTime();
        while (!call.isDone()) {
            passPause();
        }
        assertThat(pauses.subList(0, 6)).extracting(Duration::toMillis).containsExactly(5L, 10L, 20L, 40L, 80L, 100L);
        assertThat(pauses).allMatch(pause -> pause.compareTo(DividedCalls.LONGEST_PAUSE) <= 0);
        assertThat(clock.nanoTime() - start)
                .isBetween(PATIENCE.minus(DividedCalls.LONGEST_PAUSE).toNanos(), PATIENCE.toNanos());
        assertThat(StoreTest.failure(call)).isSameAs(DIVIDED);
    }

    @Test
    void answerEndsTheCall() {
        CompletableFuture<String> call = calls.<String>call(
                        () -> failed(DIVIDED), () -> CompletableFuture.completedStage("answer"))
                .toCompletableFuture();
        assertThat(call).isNotDone();
        passPause();
        assertThat(call).isCompletedWithValue("answer");
    }

    @Test
    void otherFailureIsNotRepeated() {
        StoreException other = StoreException.unavailable(Effect.UNKNOWN, "no answer", null);
        assertThat(StoreTest.failure(calls.<String>call(() -> failed(other), () -> failed(DIVIDED))))
                .isSameAs(other);
        CompletionStage<String> second = calls.call(() -> failed(DIVIDED), () -> failed(other));
        passPause();
        assertThat(StoreTest.failure(second)).isSameAs(other);
        assertThat(pauses).hasSize(1);
    }
}
