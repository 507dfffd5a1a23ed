package dev.holdfast.store;

import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parses and checks the times in the options of a store's URL, with the same format and the same messages for all
 * stores.
 */
public final class OptionTimes {

    private static final Pattern SHORT = Pattern.compile("(\\d{1,9})(ms|s|m|h|d)");

    /** A longer time than any option may have is shown as it comes. */
    private static final long LONGEST_SHORT_SECONDS = Duration.ofDays(36_500).toSeconds();

    private OptionTimes() {}

    /**
     * Reads a time such as {@code 500ms}, {@code 5s}, {@code 10m}, {@code 24h}, {@code 30d} or {@code PT5S}.
     *
     * @param name the option, for the message
     * @throws IllegalArgumentException if the value does not have this form
     */
    public static Duration parse(String name, String value) {
        Matcher matcher = SHORT.matcher(value);
        if (matcher.matches()) {
            long number = Long.parseLong(matcher.group(1));
            return switch (matcher.group(2)) {
                case "ms" -> Duration.ofMillis(number);
                case "s" -> Duration.ofSeconds(number);
                case "m" -> Duration.ofMinutes(number);
                case "h" -> Duration.ofHours(number);
                default -> Duration.ofDays(number);
            };
        }
        try {
            return Duration.parse(value.toUpperCase(Locale.ROOT));
        } catch (DateTimeParseException notIso) {
            throw new IllegalArgumentException(
                    "Option " + name + " must be a time such as 500ms, 5s, 10m, 24h, 30d or PT5S, but was \"" + value
                            + "\"",
                    notIso);
        }
    }

    /**
     * Checks that a time is in its range.
     *
     * @throws IllegalArgumentException if it is shorter than {@code least} or longer than {@code most}
     */
    public static void check(String name, Duration value, Duration least, Duration most) {
        if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
            throw new IllegalArgumentException(
                    "Option " + name + " must be " + text(least) + " to " + text(most) + ", but was " + text(value));
        }
    }

    /**
     * The time as people write it, in the form of ISO-8601 where there is no unit for it. The blank tells it from what a URL may
     * contain: a message that has something of a password's URL in it is not shown.
     */
    public static String text(Duration time) {
        if (time.getNano() % 1_000_000 != 0 || time.getSeconds() < 0 || time.getSeconds() > LONGEST_SHORT_SECONDS) {
            return time.toString();
        } else if (time.getNano() != 0 || time.isZero()) {
            return time.toMillis() + " ms";
        }
        long seconds = time.getSeconds();
        if (seconds % 86_400 == 0 && seconds > 86_400) {
            return seconds / 86_400 + " d";
        }
        return seconds % 3600 == 0 ? seconds / 3600 + " h" : seconds % 60 == 0 ? seconds / 60 + " m" : seconds + " s";
    }
}
