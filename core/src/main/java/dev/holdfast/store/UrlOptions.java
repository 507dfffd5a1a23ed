package dev.holdfast.store;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

/** The options behind the question mark of a store's URL, so that they look the same and are refused in the same words. */
public final class UrlOptions {

    private UrlOptions() {}

    /**
     * Reads {@code NAME=VALUE&NAME=VALUE}; an empty text has none. Values may be percent-encoded.
     *
     * @throws IllegalArgumentException if it does not look so, or an option is given twice
     */
    public static Map<String, String> decoded(String query) {
        Map<String, String> values = query.isEmpty() ? new TreeMap<>() : split(query);
        values.replaceAll((name, value) -> decodedText(value));
        return values;
    }

    /**
     * Splits {@code NAME=VALUE&NAME=VALUE}, which must not be empty. Values are left as they are.
     *
     * @throws IllegalArgumentException if it does not look so, or an option is given twice
     */
    public static Map<String, String> split(String query) {
        Map<String, String> values = new TreeMap<>();
        for (String pair : query.split("&", -1)) {
            int equals = pair.indexOf('=');
            if (equals < 1) {
                throw new IllegalArgumentException(
                        "Options look like ?NAME=VALUE&NAME=VALUE, but one was \"" + pair + "\"");
            }
            if (values.put(pair.substring(0, equals), pair.substring(equals + 1)) != null) {
                throw new IllegalArgumentException("Option " + pair.substring(0, equals) + " is given twice");
            }
        }
        return values;
    }

    /**
     * A part of a URL without its percent signs. A plus stays a plus: this is no form.
     *
     * @throws IllegalArgumentException if a percent sign has no two hexadecimal digits behind it
     */
    public static String decodedText(String text) {
        if (text.indexOf('%') < 0) {
            return text;
        }
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException("The URL has a % that is not followed by two hexadecimal digits", wrong);
        }
    }
}
