package dev.holdfast.cli.option;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.DateTimeException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Durations as people write them: {@code 500ms}, {@code 5s}, {@code 2m}, {@code 1h}, {@code 1d}, plain decimal seconds as
 * for flock(1), or ISO-8601 ({@code PT5S}). Never negative, at most {@value #MAX_DAYS} days.
 */
public final class DurationConverter implements ITypeConverter<Duration> {

    private static final int MAX_DAYS = 365;
    private static final Duration MAX = Duration.ofDays(MAX_DAYS);
    private static final int MAX_DIGITS = 18;

    @Override
    public Duration convert(String text) {
        try {
            return parse(text);
        } catch (IllegalArgumentException wrong) {
            throw new TypeConversionException(wrong.getMessage());
        }
    }

    /** @throws IllegalArgumentException if the text is no duration that is allowed; the message says which are */
    static Duration parse(String text) {
        Duration duration;
        if (!text.isEmpty() && Character.toUpperCase(text.charAt(0)) == 'P') {
            try {
                duration = Duration.parse(text);
            } catch (DateTimeException wrong) {
                throw refused(text, wrong);
            }
        } else {
            duration = decimal(text);
        }
        if (duration.isNegative() || duration.compareTo(MAX) > 0) {
            throw new IllegalArgumentException(
                    "a duration must be 0 to " + MAX_DAYS + " days, but was \"" + text + "\"");
        }
        return duration;
    }

    private static Duration decimal(String text) {
        int end = text.length();
        while (end > 0 && Character.isLetter(text.charAt(end - 1))) {
            end--;
        }
        String number = text.substring(0, end);
        long nanosPerUnit = nanosPerUnit(text.substring(end));
        if (nanosPerUnit == 0 || !isDecimal(number)) {
            throw refused(text, null);
        }
        // Rounds up, so that a wait or a lease is never cut to zero.
        BigDecimal nanos = new BigDecimal(number)
                .multiply(BigDecimal.valueOf(nanosPerUnit))
                .setScale(0, RoundingMode.CEILING);
        BigDecimal most = BigDecimal.valueOf(MAX.toNanos());
        return nanos.compareTo(most) > 0 ? MAX.plusNanos(1) : Duration.ofNanos(nanos.longValueExact());
    }

    private static long nanosPerUnit(String unit) {
        return switch (unit) {
            case "ms" -> 1_000_000L;
            case "", "s" -> 1_000_000_000L;
            case "m", "min" -> 60_000_000_000L;
            case "h" -> 3_600_000_000_000L;
            case "d" -> 86_400_000_000_000L;
            default -> 0;
        };
    }

    /** Digits with at most one point: no sign and no exponent, which could come from a name or a typing error. */
    private static boolean isDecimal(String number) {
        int digits = 0;
        int points = 0;
        for (int i = 0; i < number.length(); i++) {
            char c = number.charAt(i);
            if (c >= '0' && c <= '9') {
                digits++;
            } else if (c == '.') {
                points++;
            } else {
                return false;
            }
        }
        return digits > 0 && digits <= MAX_DIGITS && points <= 1;
    }

    private static IllegalArgumentException refused(String text, @Nullable Throwable cause) {
        return new IllegalArgumentException(
                "\"" + text + "\" is no duration: write 500ms, 5s, 2m, 1h, 1d, seconds as 2.5, or PT5S", cause);
    }

    /** A duration for people: {@code 1h 2m}, {@code 2m 5s}, {@code 12.3s}, {@code 45ms}. */
    public static String print(Duration duration) {
        long millis = duration.toMillis();
        if (millis < 1000) {
            return millis + "ms";
        } else if (millis < 60_000) {
            return millis / 1000 + "." + millis % 1000 / 100 + "s";
        } else if (millis < 3_600_000) {
            return millis / 60_000 + "m " + millis % 60_000 / 1000 + "s";
        } else if (millis < 86_400_000) {
            return millis / 3_600_000 + "h " + millis % 3_600_000 / 60_000 + "m";
        }
        return millis / 86_400_000 + "d " + millis % 86_400_000 / 3_600_000 + "h";
    }
}
