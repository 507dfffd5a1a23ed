package dev.holdfast.memcached.config;

import dev.holdfast.store.OptionTimes;
import dev.holdfast.store.UrlOptions;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The options of the store, as they stand behind the question mark of a URL.
 *
 * @param timeout the longest time for one operation on one name, all its round trips included
 * @param prefix the text that all keys begin with
 * @param sasl whether the login is made by SASL, in the binary protocol; else by the text protocol's own login
 * @param ca a PEM file with the certificates that the server is trusted by; null for what the JVM trusts
 * @param cert a PEM file with this client's certificate; null for none
 * @param key a PEM file with the private key of {@code cert}, in PKCS #8
 */
public record MemcachedOptions(
        Duration timeout,
        String prefix,
        boolean sasl,
        @Nullable String ca,
        @Nullable String cert,
        @Nullable String key) {

    public static final MemcachedOptions DEFAULTS =
            new MemcachedOptions(Duration.ofSeconds(2), "holdfast", false, null, null, null);

    private static final int MAX_PREFIX = 64;

    public MemcachedOptions {
        OptionTimes.check("timeout", timeout, Duration.ofMillis(10), Duration.ofSeconds(8));
        boolean plain = prefix.chars().allMatch(c -> c > ' ' && c < 0x7f && c != '%' && c != ':' && c != '#');
        if (!plain || prefix.isEmpty() || prefix.length() > MAX_PREFIX) {
            throw new IllegalArgumentException("Option prefix must have 1 to " + MAX_PREFIX
                    + " characters of ASCII without blanks, colons, hashes and percent signs, but was \"" + prefix
                    + "\"");
        }
        if ((cert == null) != (key == null)) {
            throw new IllegalArgumentException(
                    "Options cert and key belong together, but only " + (cert == null ? "key" : "cert") + " was given");
        }
    }

    /**
     * Reads {@code NAME=VALUE&NAME=VALUE}; an empty text gives the defaults. Values may be percent-encoded.
     *
     * @throws IllegalArgumentException if an option is unknown or wrong
     */
    public static MemcachedOptions parse(String query) {
        Map<String, String> values = UrlOptions.decoded(query);
        Duration timeout = DEFAULTS.timeout;
        String prefix = DEFAULTS.prefix;
        boolean sasl = DEFAULTS.sasl;
        String ca = DEFAULTS.ca;
        String cert = DEFAULTS.cert;
        String key = DEFAULTS.key;
        for (Map.Entry<String, String> option : values.entrySet()) {
            String value = option.getValue();
            switch (option.getKey()) {
                case "timeout" -> timeout = OptionTimes.parse("timeout", value);
                case "prefix" -> prefix = value;
                case "login" -> sasl = isSasl(value);
                case "ca" -> ca = value;
                case "cert" -> cert = value;
                case "key" -> key = value;
                default ->
                    throw UrlOptions.unknown(option.getKey(), values, "timeout, prefix, login, ca, cert and key");
            }
        }
        return new MemcachedOptions(timeout, prefix, sasl, ca, cert, key);
    }

    private static boolean isSasl(String value) {
        return switch (value) {
            case "sasl" -> true;
            case "text" -> false;
            default ->
                throw new IllegalArgumentException("Option login must be text or sasl, but was \"" + value + "\"");
        };
    }

    public boolean hasFiles() {
        return ca != null || cert != null;
    }
}
