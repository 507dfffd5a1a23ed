package dev.holdfast.etcd.config;

import dev.holdfast.store.OptionTimes;
import dev.holdfast.store.UrlOptions;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The options of the store, as they stand behind the question mark of a URL.
 *
 * @param session the time to live of the client's lease, in whole seconds
 * @param timeout the longest time to wait for one answer
 * @param prefix the text that all keys begin with
 * @param ca a PEM file with the certificates that servers are trusted by; null for what the JVM trusts
 * @param cert a PEM file with this client's certificate; null for none
 * @param key a PEM file with the private key of {@code cert}, in PKCS #8
 */
public record EtcdOptions(
        Duration session,
        Duration timeout,
        String prefix,
        @Nullable String ca,
        @Nullable String cert,
        @Nullable String key) {

    public static final EtcdOptions DEFAULTS =
            new EtcdOptions(Duration.ofSeconds(30), Duration.ofSeconds(2), "holdfast/", null, null, null);

    private static final int MAX_PREFIX = 64;

    public EtcdOptions {
        OptionTimes.check("session", session, Duration.ofSeconds(1), Duration.ofHours(24));
        if (session.toNanosPart() != 0) {
            throw new IllegalArgumentException("Option session must be whole seconds, but was " + session);
        }
        OptionTimes.check("timeout", timeout, Duration.ofMillis(10), Duration.ofSeconds(8));
        boolean plain = prefix.chars().allMatch(c -> c > ' ' && c < 0x7f && c != '%');
        if (!plain || prefix.length() > MAX_PREFIX) {
            throw new IllegalArgumentException("Option prefix must have at most " + MAX_PREFIX
                    + " characters of ASCII without blanks and percent signs, but was \"" + prefix + "\"");
        }
        if ((cert == null) != (key == null)) {
            throw new IllegalArgumentException(
                    "Options cert and key belong together, but only " + (cert == null ? "key" : "cert") + " was given");
        }
    }

    /**
     * Reads options.
     *
     * @throws IllegalArgumentException if an option is unknown or wrong
     */
    static EtcdOptions of(Map<String, String> values) {
        EtcdOptions options = DEFAULTS;
        Duration session = options.session;
        Duration timeout = options.timeout;
        String prefix = options.prefix;
        String ca = options.ca;
        String cert = options.cert;
        String key = options.key;
        for (Map.Entry<String, String> option : values.entrySet()) {
            String value = option.getValue();
            switch (option.getKey()) {
                case "session" -> session = OptionTimes.parse("session", value);
                case "timeout" -> timeout = OptionTimes.parse("timeout", value);
                case "prefix" -> prefix = value;
                case "ca" -> ca = value;
                case "cert" -> cert = value;
                case "key" -> key = value;
                default ->
                    throw UrlOptions.unknown(option.getKey(), values, "session, timeout, prefix, ca, cert and key");
            }
        }
        return new EtcdOptions(session, timeout, prefix, ca, cert, key);
    }

    /** Reads {@code NAME=VALUE&NAME=VALUE}; an empty text gives the defaults. Values may be percent-encoded. */
    public static EtcdOptions parse(String query) {
        return of(UrlOptions.decoded(query));
    }

    public boolean hasFiles() {
        return ca != null || cert != null;
    }
}
