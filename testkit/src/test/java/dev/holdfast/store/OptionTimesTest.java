package dev.holdfast.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.time.Duration;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A time in a URL is what was meant, or is refused by the name of its option. */
class OptionTimesTest {

    @Property(tries = 300)
    void timesAreReadAsTheyWereWritten(@ForAll @LongRange(min = 0, max = 999_999_999) long number) {
        assertThat(OptionTimes.parse("keep", number + "ms")).isEqualTo(Duration.ofMillis(number));
        assertThat(OptionTimes.parse("keep", number + "s")).isEqualTo(Duration.ofSeconds(number));
        assertThat(OptionTimes.parse("keep", number + "m")).isEqualTo(Duration.ofMinutes(number));
        assertThat(OptionTimes.parse("keep", number + "h")).isEqualTo(Duration.ofHours(number));
        assertThat(OptionTimes.parse("keep", number + "d")).isEqualTo(Duration.ofDays(number));
    }

    @Property(tries = 300)
    void anyDurationIsReadFromItsOwnText(@ForAll("durations") Duration duration) {
        assertThat(OptionTimes.parse("keep", duration.toString())).isEqualTo(duration);
        assertThat(OptionTimes.parse("keep", duration.toString().toLowerCase(java.util.Locale.ROOT)))
                .isEqualTo(duration);
    }

    /** Whatever it is, nothing but a time or a refusal comes out, and never one of another size. */
    @Property(tries = 1_000)
    void everythingElseIsRefusedByName(@ForAll("nearlyTimes") String text) {
        Throwable refused = catchThrowable(() -> OptionTimes.parse("keep", text));
        if (refused != null) {
            assertThat(refused).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("keep");
        } else {
            assertThat(text).matches("\\d{1,9}(ms|[smhd])|(?i)[+-]?P.*");
        }
    }

    @Property(tries = 300)
    void timesOutOfTheirRangeAreRefused(@ForAll("durations") Duration value) {
        Duration least = Duration.ofMillis(100);
        Duration most = Duration.ofHours(24);
        if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> OptionTimes.check("keep", value, least, most))
                    .withMessageStartingWith("Option keep must be 100 ms to 24 h, but was ");
        } else {
            OptionTimes.check("keep", value, least, most);
        }
    }

    /** So that whoever reads it can write it: the bounds of {@code keep} were {@code PT24H to PT876000H}. */
    @ParameterizedTest
    @CsvSource({
        "PT0S, 0 ms",
        "PT0.0015S, PT0.0015S",
        "PT0.099S, 99 ms",
        "PT90.5S, 90500 ms",
        "PT90S, 90 s",
        "PT5M, 5 m",
        "PT24H, 24 h",
        "PT25H, 25 h",
        "P2D, 2 d",
        "PT876001H, PT876001H",
        "PT-1S, PT-1S"
    })
    void timesAreShownAsTheyAreWritten(Duration value, String shown) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> OptionTimes.check("keep", value, Duration.ofDays(400), Duration.ofDays(500)))
                .withMessage("Option keep must be 400 d to 500 d, but was " + shown);
    }

    @Provide
    Arbitrary<Duration> durations() {
        return Arbitraries.oneOf(
                Arbitraries.longs().map(Duration::ofSeconds),
                Arbitraries.longs().map(Duration::ofNanos),
                Arbitraries.integers().map(Duration::ofMillis),
                Arbitraries.of(Duration.ZERO, Duration.ofSeconds(Long.MAX_VALUE, 999_999_999)));
    }

    @Provide
    Arbitrary<String> nearlyTimes() {
        return Arbitraries.oneOf(
                Arbitraries.strings().withChars("0123456789smhdPTDHMS.,+- ").ofMaxLength(12),
                Arbitraries.strings().ofMaxLength(5),
                Arbitraries.longs().map(number -> number + "d"));
    }
}
