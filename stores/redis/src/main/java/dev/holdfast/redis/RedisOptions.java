package dev.holdfast.redis;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.OptionTimes;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;

/**
 * The options of a store in Redis; {@link RedisLockStoreProvider} says what they mean.
 *
 * @param ticketTtl how long a waiter keeps its place without a refresh
 * @param keep how long the record of an idle lock is kept
 * @param timeout how long a connection, and a reply, may be waited for
 * @param connections how many calls may be under way at once
 * @param prefix what all keys and channels begin with
 */
record RedisOptions(Duration ticketTtl, Duration keep, Duration timeout, int connections, String prefix) {

    static final RedisOptions DEFAULTS =
            new RedisOptions(Duration.ofSeconds(5), Duration.ofDays(1), Duration.ofSeconds(2), 16, "holdfast:");

    private static final int MAX_CONNECTIONS = 1_000;
    private static final int MAX_PREFIX = 64;

    RedisOptions {
        OptionTimes.check("ticketTtl", ticketTtl, Claim.MIN_LEASE, Claim.MAX_LEASE);
        // A record must not be idle for so long that it goes while tickets are being refreshed.
        OptionTimes.check("keep", keep, ticketTtl.multipliedBy(10), Duration.ofDays(36_500));
        OptionTimes.check("timeout", timeout, Duration.ofMillis(10), Duration.ofSeconds(8));
        if (connections < 1 || connections > MAX_CONNECTIONS) {
            throw new IllegalArgumentException(
                    "Option connections must be 1 to " + MAX_CONNECTIONS + ", but was " + connections);
        }
        boolean plain = prefix.chars().allMatch(c -> c > ' ' && c < 0x7f && c != '{' && c != '}');
        if (!plain || prefix.length() > MAX_PREFIX) {
            throw new IllegalArgumentException("Option prefix must have at most " + MAX_PREFIX
                    + " characters of ASCII without blanks and braces, but was \"" + prefix + "\"");
        }
    }

    /**
     * Reads options.
     *
     * @throws IllegalArgumentException if one is unknown or wrong
     */
    static RedisOptions of(Map<String, String> values) {
        RedisOptions options = DEFAULTS;
        Duration ticketTtl = options.ticketTtl;
        Duration keep = options.keep;
        Duration timeout = options.timeout;
        int connections = options.connections;
        String prefix = options.prefix;
        for (Map.Entry<String, String> option : values.entrySet()) {
            String value = option.getValue();
            switch (option.getKey()) {
                case "ticketTtl" -> ticketTtl = OptionTimes.parse("ticketTtl", value);
                case "keep" -> keep = OptionTimes.parse("keep", value);
                case "timeout" -> timeout = OptionTimes.parse("timeout", value);
                case "connections" -> connections = number("connections", value);
                case "prefix" -> prefix = value;
                default ->
                    throw new IllegalArgumentException("Unknown option \"" + option.getKey()
                            + "\"; there are ticketTtl, keep, timeout, connections and prefix");
            }
        }
        return new RedisOptions(ticketTtl, keep, timeout, connections, prefix);
    }

    /** Reads {@code NAME=VALUE&NAME=VALUE}; an empty text has none. */
    static RedisOptions parse(String query) {
        Map<String, String> values = new TreeMap<>();
        for (String pair : query.isEmpty() ? new String[0] : query.split("&", -1)) {
            int equals = pair.indexOf('=');
            if (equals < 1) {
                throw new IllegalArgumentException(
                        "Options look like ?NAME=VALUE&NAME=VALUE, but one was \"" + pair + "\"");
            }
            if (values.put(pair.substring(0, equals), pair.substring(equals + 1)) != null) {
                throw new IllegalArgumentException("Option " + pair.substring(0, equals) + " is given twice");
            }
        }
        return of(values);
    }

    int timeoutMillis() {
        return Math.toIntExact(timeout.toMillis());
    }

    private static int number(String name, String value) {
        if (!value.matches("\\d{1,9}")) {
            throw new IllegalArgumentException("Option " + name + " must be a number, but was \"" + value + "\"");
        }
        return Integer.parseInt(value);
    }
}
