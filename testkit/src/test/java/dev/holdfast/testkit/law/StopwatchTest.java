package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class StopwatchTest {

    private static final Duration TICKET = Duration.ofSeconds(2);

    private final AtomicLong millis = new AtomicLong(1_000_000);
    private final AtomicLong wallMillis = new AtomicLong(5_000_000);
    private final Stopwatch stopwatch =
            new Stopwatch(() -> TimeUnit.MILLISECONDS.toNanos(millis.get()), wallMillis::get);

    @Test
    void timeHasNotPassedByEitherClock() {
        millis.addAndGet(1_999);
        wallMillis.addAndGet(1_999);
        assertThat(stopwatch.mayHavePassed(TICKET)).isFalse();
    }

    @Test
    void timePassesByTheMonotonicClock() {
        millis.addAndGet(2_000);
        wallMillis.addAndGet(-60_000);
        assertThat(stopwatch.mayHavePassed(TICKET)).isTrue();
    }

    @Test
    void timePassesByTheWallClockWhenTheMachineWasSuspended() {
        millis.addAndGet(1_200);
        wallMillis.addAndGet(21_200);
        assertThat(stopwatch.mayHavePassed(TICKET)).isTrue();
    }
}
