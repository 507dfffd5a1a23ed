package dev.holdfast.store;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Parses the options after the question mark of a store's URL, with the same format and the same messages for all
 * stores.
 */
public final class UrlOptions {

    private UrlOptions() {}

    /**
     * Parses {@code NAME=VALUE&NAME=VALUE}; an empty text has no options. Values may be percent-encoded.
     *
     * @throws IllegalArgumentException if the text does not have this form, or an option is given twice
     */
    public static Map<String, String> decoded(String query) {
        Map<String, String> values = query.isEmpty() ? new TreeMap<>() : split(query);
        values.replaceAll((name, value) -> decodedText(value));
        return values;
    }

    /**
     * Splits {@code NAME=VALUE&NAME=VALUE}, which must not be empty. Values are left as they are.
     *
     * @throws IllegalArgumentException if the text does not have this form, or an option is given twice
     */
    public static Map<String, String> split(String query) {
        Map<String, String> values = new TreeMap<>();
        for (String pair : query.split("&", -1)) {
            int equals = pair.indexOf('=');
            if (equals < 1) {
                throw new IllegalArgumentException(
                        "Options look like ?NAME=VALUE&NAME=VALUE, but one was " + shown(pair, query));
            }
            String name = pair.substring(0, equals);
            if (values.put(name, pair.substring(equals + 1)) != null) {
                throw new IllegalArgumentException("Option " + shown(name, query) + " is given twice");
            }
        }
        return values;
    }

    /**
     * What is thrown for an option that a store does not have.
     *
     * @param name its name
     * @param values all options of the URL
     * @param known the names that there are, for the message
     */
    public static IllegalArgumentException unknown(String name, Map<String, String> values, String known) {
        return new IllegalArgumentException(
                "Unknown option " + shown(name, String.join("&", values.keySet())) + "; there are " + known);
    }

    // An unencoded & in a password ends it, and what follows looks like another option.
    private static String shown(String text, String query) {
        return query.toLowerCase(Locale.ROOT).contains("password")
                ? "(not shown, as it may be part of a password whose & is not encoded as %26)"
                : "\"" + text + "\"";
    }

    /** The values by name, for messages; those of passwords are replaced by {@code ***}. */
    public static String withoutPasswords(Map<String, String> values) {
        return values.entrySet().stream()
                .map(option -> option.getKey() + "="
                        + (option.getKey().toLowerCase(Locale.ROOT).endsWith("password") ? "***" : option.getValue()))
                .collect(Collectors.joining("&"));
    }

    /** The text decoded, if it can be. */
    static String decodedOrNot(String text) {
        try {
            return decodedText(text);
        } catch (IllegalArgumentException notEncoded) {
            return text;
        }
    }

    /**
     * Decodes the percent-encoding in a part of a URL. A plus stays a plus, because this is not an HTML form.
     *
     * @throws IllegalArgumentException if a percent sign is not followed by two hexadecimal digits
     */
    public static String decodedText(String text) {
        if (text.indexOf('%') < 0) {
            return text;
        }
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException showsWhatFollows) {
            throw new IllegalArgumentException("The URL has a % that is not followed by two hexadecimal digits");
        }
    }
}
