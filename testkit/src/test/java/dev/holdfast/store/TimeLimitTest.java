package dev.holdfast.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.testkit.ManualClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class TimeLimitTest {

    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final ManualClock clock = new ManualClock();
    private final List<Duration> delays = new ArrayList<>();
    private final List<Runnable> sweeps = new ArrayList<>();
    private boolean noMemory;
    private final TimeLimit limit = new TimeLimit(LIMIT, clock, delay -> {
        if (noMemory) {
            throw new OutOfMemoryError("by the test");
        }
        delays.add(delay);
        return sweeps::add;
    });

    private void sweep() {
        sweeps.remove(0).run();
    }

    @Test
    void aLateFutureFailsAndAnEarlyOneDoesNot() {
        CompletableFuture<String> early = limit.on(new CompletableFuture<>());
        CompletableFuture<String> late = limit.on(new CompletableFuture<>());
        early.complete("done");
        clock.advance(LIMIT);
        sweep();
        assertThat(early).isCompletedWithValue("done");
        assertThat(late).isCompletedExceptionally();
        assertThat(late.handle((value, failure) -> failure).join())
                .isInstanceOf(TimeoutException.class)
                .hasMessageContaining("10000 ms");
    }

    @Test
    void manyCallsCostOneSweep() {
        for (int i = 0; i < 1_000; i++) {
            limit.on(CompletableFuture.completedFuture("done"));
            limit.begin(() -> {}).end();
        }
        assertThat(delays).containsExactly(LIMIT);
        clock.advance(LIMIT);
        sweep();
        assertThat(sweeps).as("nothing is under way").isEmpty();
    }

    @Test
    void aCallThatBeganLaterIsCheckedWhenItsOwnTimeIsOver() {
        limit.begin(() -> {}).end();
        clock.advance(Duration.ofSeconds(7));
        AtomicInteger late = new AtomicInteger();
        limit.begin(late::incrementAndGet);
        clock.advance(Duration.ofSeconds(3));
        sweep();
        assertThat(late).hasValue(0);
        assertThat(delays).containsExactly(LIMIT, Duration.ofSeconds(7));
        clock.advance(Duration.ofSeconds(7));
        sweep();
        assertThat(late).hasValue(1);
        assertThat(sweeps).isEmpty();
    }

    @Test
    void afterAQuietTimeTheNextCallIsLimitedAgain() {
        limit.begin(() -> {}).end();
        clock.advance(LIMIT);
        sweep();
        AtomicInteger late = new AtomicInteger();
        limit.begin(late::incrementAndGet);
        assertThat(delays).containsExactly(LIMIT, LIMIT);
        clock.advance(LIMIT);
        sweep();
        assertThat(late).hasValue(1);
    }

    @Test
    void aLateCallIsReportedOnce() {
        AtomicInteger late = new AtomicInteger();
        TimeLimit.Call call = limit.begin(late::incrementAndGet);
        limit.begin(() -> {});
        clock.advance(LIMIT);
        sweep();
        limit.begin(() -> {});
        clock.advance(LIMIT);
        sweep();
        call.end();
        assertThat(late).hasValue(1);
    }

    @Test
    void aCallbackThatFailsStopsNeitherTheOthersNorTheNextSweep() {
        IllegalStateException mistake = new IllegalStateException("a mistake");
        AtomicInteger late = new AtomicInteger();
        limit.begin(() -> {
            throw mistake;
        });
        limit.begin(late::incrementAndGet);
        clock.advance(Duration.ofSeconds(7));
        limit.begin(late::incrementAndGet);
        clock.advance(Duration.ofSeconds(3));
        assertThatThrownBy(this::sweep).isSameAs(mistake);
        assertThat(late).hasValue(1);
        clock.advance(Duration.ofSeconds(7));
        sweep();
        assertThat(late).hasValue(2);
    }

    @Test
    void anErrorOfACallbackStopsNoOtherOne() {
        OutOfMemoryError error = new OutOfMemoryError("by the test");
        AtomicInteger late = new AtomicInteger();
        limit.begin(() -> {
            throw error;
        });
        limit.begin(late::incrementAndGet);
        clock.advance(LIMIT);
        assertThatThrownBy(this::sweep).isSameAs(error);
        assertThat(late).hasValue(1);
    }

    /** Before, no call was limited any more after there had been no memory for a sweep once. */
    @Test
    void callsAreLimitedAgainAfterASweepThatCouldNotBeScheduled() {
        noMemory = true;
        AtomicInteger late = new AtomicInteger();
        assertThatThrownBy(() -> limit.begin(late::incrementAndGet)).isInstanceOf(OutOfMemoryError.class);
        noMemory = false;
        limit.begin(late::incrementAndGet);
        clock.advance(LIMIT);
        sweep();
        assertThat(late).hasValue(2);
    }

    @Test
    void realTimeLimitsToo() {
        CompletableFuture<String> late = new TimeLimit(Duration.ofMillis(20)).on(new CompletableFuture<>());
        assertThat(late.handle((value, failure) -> failure).join()).isInstanceOf(TimeoutException.class);
    }
}
