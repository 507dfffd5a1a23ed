package dev.holdfast.store.sequenced;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.testkit.ManualClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TombstonesTest {

    private static final Duration SECOND = Duration.ofSeconds(1);

    private final ManualClock clock = new ManualClock();
    private final Tombstones<String> tombstones = new Tombstones<>(clock, 2);

    @Test
    void theOldestIsDroppedForOneTooMany() {
        assertThat(tombstones.add("a", SECOND)).isEmpty();
        assertThat(tombstones.add("b", SECOND)).isEmpty();
        assertThat(tombstones.add("a", SECOND))
                .as("it is not a third one, and younger now")
                .isEmpty();
        assertThat(tombstones.add("c", SECOND)).containsExactly("b");
        assertThat(tombstones.all()).containsExactlyInAnyOrder("a", "c");
    }

    @Test
    void eachLastsForItsTime() {
        tombstones.add("short", SECOND);
        tombstones.add("long", SECOND.multipliedBy(3));
        long start = clock.nanoTime();
        clock.advance(SECOND);
        assertThat(tombstones.has("short")).isFalse();
        assertThat(tombstones.has("long")).isTrue();
        List<Long> later = new ArrayList<>();
        assertThat(tombstones.removeOver(later::add)).containsExactly("short");
        assertThat(later).containsExactly(start + SECOND.multipliedBy(3).toNanos());
        assertThat(tombstones.all()).containsExactly("long");
    }
}
