package dev.holdfast.jdbc.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.LockName;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How often a file is looked at: often for who is the next one since a short while, rarely for all others. */
class FilePollsTest {

    private static final LockName NAME = new LockName("hot");

    /** Somewhere, since the clock may begin anywhere. */
    private static final long START = -3_000_000_000L;

    private final FilePolls polls = new FilePolls();

    @ParameterizedTest
    @CsvSource({
        "0, 0, 250", "0, 20, 250", "0, 128, 1000", "0, 1000, 5000", "0, 600000, 5000",
        "1, 0, 500", "7, 0, 2000", "7, 512, 4000", "63, 0, 5000", "9999, 0, 5000"
    })
    void pauses(int position, long waitedMillis, long micros) {
        polls.enqueued(NAME, position, START);
        assertThat(polls.pauseNanos(START + Duration.ofMillis(waitedMillis).toNanos()))
                .isEqualTo(micros * 1_000);
        assertThat(polls.firstNanos(position)).isLessThanOrEqualTo(micros * 1_000);
    }

    @Test
    void theShortestPauseOfAllNamesCounts() {
        polls.enqueued(NAME, 40, START);
        polls.enqueued(new LockName("other"), 3, START);
        assertThat(polls.pauseNanos(START)).isEqualTo(1_000_000);
        polls.read(new LockName("other"), -1, false, START);
        assertThat(polls.pauseNanos(START)).isEqualTo(5_000_000);
    }

    /** The claim that holds now may be released soon. */
    @Test
    void aChangeOfThePositionBeginsAnew() {
        polls.enqueued(NAME, 1, START);
        long later = START + Duration.ofSeconds(10).toNanos();
        polls.read(NAME, 1, false, later);
        assertThat(polls.pauseNanos(later)).isEqualTo(5_000_000);
        polls.read(NAME, 0, false, later);
        assertThat(polls.pauseNanos(later)).isEqualTo(250_000);
    }

    @Test
    void theQueueIsReadOnceInAWhile() {
        assertThat(polls.wantsQueue(NAME, START)).isTrue();
        assertThat(polls.wantsQueue(NAME, START + 99_000_000)).isFalse();
        assertThat(polls.wantsQueue(NAME, START + 100_000_000)).isTrue();
        polls.allAreDue();
        assertThat(polls.wantsQueue(NAME, START + 100_000_001))
                .as("a read has failed")
                .isTrue();
    }
}
