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
                    "Option " + name + " must be " + least + " to " + most + ", but was " + value);
        }
    }
}
