package dev.holdfast.cli.option;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DurationConverterTest {

    @ParameterizedTest
    @CsvSource({
        "500ms, 500",
        "5s, 5000",
        "2m, 120000",
        "1h, 3600000",
        "1d, 86400000",
        "5, 5000",
        "2.5, 2500",
        ".5, 500",
        "0, 0",
        "1.5h, 5400000",
        "PT5S, 5000",
        "pt1.5s, 1500",
        "P1D, 86400000",
        "365d, 31536000000"
    })
    void reads(String text, long millis) {
        assertThat(DurationConverter.parse(text)).isEqualTo(Duration.ofMillis(millis));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "", "s", "ms", "-1", "-1s", "+1", "1e3", "1 s", "5x", "5S", "1.2.3", ".", "PT", "P", "5s5", "١", "1_0"
            })
    void refusesWhatIsNoDuration(String text) {
        assertThatThrownBy(() -> DurationConverter.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("500ms, 5s, 2m, 1h");
    }

    @ParameterizedTest
    @ValueSource(strings = {"PT-5S", "366d", "999999999999999999d", "PT8761H"})
    void refusesWhatIsOutOfRange(String text) {
        assertThatThrownBy(() -> DurationConverter.parse(text)).hasMessageContaining("0 to 365 days");
    }

    @ParameterizedTest
    @CsvSource({"0, 0ms", "45, 45ms", "12345, 12.3s", "125000, 2m 5s", "3720000, 1h 2m", "90000000, 1d 1h"})
    void prints(long millis, String text) {
        assertThat(DurationConverter.print(Duration.ofMillis(millis))).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.0000000001", "0.0000000000000001"})
    void roundsUpSoThatAWaitIsNeverCutToNone(String text) {
        assertThat(DurationConverter.parse(text)).isEqualTo(Duration.ofNanos(1));
    }
}
