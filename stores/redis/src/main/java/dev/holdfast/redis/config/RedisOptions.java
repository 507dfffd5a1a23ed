package dev.holdfast.redis.config;

import dev.holdfast.spi.Claim;
import dev.holdfast.store.OptionTimes;
import dev.holdfast.store.UrlOptions;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The options of a store in Redis; {@code RedisLockStoreProvider} explains them.
 *
 * @param ticketTtl how long a waiter keeps its position without a refresh
 * @param keep how long the record of an idle lock is kept
 * @param timeout how long a connection, and a reply, may be waited for
 * @param connections how many calls may be under way at once
 * @param prefix what all keys and channels begin with
 * @param cluster whether the keys are spread over the nodes of a cluster
 * @param replicas how many replicas must have acknowledged a grant before it counts; 0 for none
 * @param replicaTimeout how long their acknowledgement may take
 * @param sentinelUser the user name for the Sentinels; empty for their default user
 * @param sentinelPassword the Sentinels' password; empty if they ask for none
 * @param layout how locks are stored
 * @param stamp the form of time stamps, if the layout has them
 */
public record RedisOptions(
        Duration ticketTtl,
        Duration keep,
        Duration timeout,
        int connections,
        String prefix,
        boolean cluster,
        int replicas,
        Duration replicaTimeout,
        String sentinelUser,
        String sentinelPassword,
        Layout layout,
        Stamp stamp) {

    static final RedisOptions DEFAULTS = new RedisOptions(
            Duration.ofSeconds(5),
            Duration.ofHours(1),
            Duration.ofSeconds(2),
            16,
            Layout.RECORD.defaultPrefix(),
            false,
            0,
            Duration.ofMillis(500),
            "",
            "",
            Layout.RECORD,
            Stamp.MILLIS);

    private static final String NAMES =
            "ticketTtl, keep, timeout, connections, prefix, cluster, replicas, replicaTimeout,"
                    + " sentinelUser, sentinelPassword, layout and stamp";
    private static final int MAX_CONNECTIONS = 1_000;
    private static final int MAX_REPLICAS = 16;

    /**
     * The longest timeout with which a call that is redirected, and undone at the end, still takes less than a
     * minute.
     */
    private static final Duration MAX_TIMEOUT_OF_SEVERAL = Duration.ofSeconds(2);

    /** The longest timeout with which a command that is followed by a script still takes less than a minute. */
    private static final Duration MAX_TIMEOUT_OF_TWO_TRIPS = Duration.ofSeconds(4);

    private static final int MAX_PREFIX = 64;
    private static final Duration MARGIN = Duration.ofSeconds(1);

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException if one is wrong
     */
    public RedisOptions {
        OptionTimes.check("ticketTtl", ticketTtl, Claim.MIN_LEASE, Claim.MAX_LEASE);
        // A record must not expire as idle while tickets are still being refreshed.
        if (keep.compareTo(ticketTtl.multipliedBy(10)) < 0) {
            throw new IllegalArgumentException("Option keep must be at least ten times ticketTtl, but was "
                    + OptionTimes.text(keep) + ", and ticketTtl " + OptionTimes.text(ticketTtl));
        }
        OptionTimes.check("keep", keep, Claim.MIN_LEASE, Duration.ofDays(36_500));
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
        if (replicas < 0 || replicas > MAX_REPLICAS) {
            throw new IllegalArgumentException(
                    "Option replicas must be 0 to " + MAX_REPLICAS + ", but was " + replicas);
        }
        OptionTimes.check(
                "replicaTimeout", replicaTimeout, Duration.ofMillis(1), replicas > 0 ? timeout : Duration.ofSeconds(8));
        if ((cluster || replicas > 0) && timeout.compareTo(MAX_TIMEOUT_OF_SEVERAL) > 0) {
            throw tooLong(timeout);
        }
        checkLayout(layout, prefix, replicas, timeout);
    }

    private static void checkLayout(Layout layout, String prefix, int replicas, Duration timeout) {
        if (layout == Layout.RECORD) {
            if (prefix.startsWith(Layout.PLAIN_RECORDS)) {
                throw new IllegalArgumentException(
                        "Option prefix must not begin with " + Layout.PLAIN_RECORDS + ", which the other layouts use");
            }
            return;
        }
        if (replicas > 0) {
            throw new IllegalArgumentException("Option replicas needs layout=record, but the layout is " + layout);
        }
        if (timeout.compareTo(MAX_TIMEOUT_OF_TWO_TRIPS) > 0) {
            throw new IllegalArgumentException("Option timeout must be at most " + MAX_TIMEOUT_OF_TWO_TRIPS.toSeconds()
                    + "s with layout=" + layout + ", but was " + timeout);
        }
    }

    private static IllegalArgumentException tooLong(Duration timeout) {
        return new IllegalArgumentException("Option timeout must be at most " + MAX_TIMEOUT_OF_SEVERAL.toSeconds()
                + "s with Sentinel, Cluster or replicas, but was " + timeout);
    }

    /** Refuses options that make no sense with, or without, Sentinels. */
    public void checkTopology(boolean sentinel) {
        if (sentinel && cluster) {
            throw new IllegalArgumentException("Option cluster makes no sense with Sentinels: a cluster has none");
        }
        if (!sentinel && !(sentinelUser.isEmpty() && sentinelPassword.isEmpty())) {
            throw new IllegalArgumentException(
                    "Options sentinelUser and sentinelPassword are for redis-sentinel:// URLs only");
        }
        if (sentinel && timeout.compareTo(MAX_TIMEOUT_OF_SEVERAL) > 0) {
            throw tooLong(timeout);
        }
    }

    public RedisOptions withCluster() {
        return new RedisOptions(
                ticketTtl,
                keep,
                timeout,
                connections,
                prefix,
                true,
                replicas,
                replicaTimeout,
                sentinelUser,
                sentinelPassword,
                layout,
                stamp);
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
        @Nullable String prefix = null;
        boolean cluster = options.cluster;
        int replicas = options.replicas;
        Duration replicaTimeout = options.replicaTimeout;
        String sentinelUser = options.sentinelUser;
        String sentinelPassword = options.sentinelPassword;
        Layout layout = options.layout;
        @Nullable Stamp stamp = null;
        for (Map.Entry<String, String> option : values.entrySet()) {
            String value = option.getValue();
            switch (option.getKey()) {
                case "ticketTtl" -> ticketTtl = OptionTimes.parse("ticketTtl", value);
                case "keep" -> keep = OptionTimes.parse("keep", value);
                case "timeout" -> timeout = OptionTimes.parse("timeout", value);
                case "connections" -> connections = number("connections", value);
                case "prefix" -> prefix = value;
                case "cluster" -> cluster = flag("cluster", value);
                case "replicas" -> replicas = number("replicas", value);
                case "replicaTimeout" -> replicaTimeout = OptionTimes.parse("replicaTimeout", value);
                case "sentinelUser" -> sentinelUser = value;
                case "sentinelPassword" -> sentinelPassword = value;
                case "layout" -> layout = Layout.of(value);
                case "stamp" -> stamp = Stamp.of(value);
                default -> throw UrlOptions.unknown(option.getKey(), values, NAMES);
            }
        }
        if (stamp != null && layout != Layout.TIMESTAMPS) {
            throw new IllegalArgumentException("Option stamp needs layout=timestamps, but the layout is " + layout);
        }
        return new RedisOptions(
                ticketTtl,
                keep,
                timeout,
                connections,
                prefix == null ? layout.defaultPrefix() : prefix,
                cluster,
                replicas,
                replicaTimeout,
                sentinelUser,
                sentinelPassword,
                layout,
                stamp == null ? options.stamp : stamp);
    }

    /** Reads {@code NAME=VALUE&NAME=VALUE}; an empty text has none. Values may be percent-encoded. */
    public static RedisOptions parse(String query) {
        return of(UrlOptions.decoded(query));
    }

    public int timeoutMillis() {
        return Math.toIntExact(timeout.toMillis());
    }

    /**
     * The longest time of a call that waits at most this many times for the server; undoing a grant takes as long
     * again.
     */
    public Duration callTimeout(int waits) {
        Duration once = timeout.multipliedBy(waits).plus(MARGIN);
        return replicas == 0 ? once : once.multipliedBy(2);
    }

    private static boolean flag(String name, String value) {
        if (!value.equals("true") && !value.equals("false")) {
            throw new IllegalArgumentException("Option " + name + " must be true or false, but was \"" + value + "\"");
        }
        return value.equals("true");
    }

    private static int number(String name, String value) {
        if (!value.matches("\\d{1,9}")) {
            throw new IllegalArgumentException(
                    "Option " + name + " must be a whole number of at most 9 digits, but was \"" + value + "\"");
        }
        return Integer.parseInt(value);
    }

    /** What decides how locks are kept, without the login of the Sentinels; for messages. */
    @Override
    public String toString() {
        return "layout=" + layout + "&prefix=" + prefix + "&cluster=" + cluster + "&replicas=" + replicas
                + "&ticketTtl=" + ticketTtl + "&keep=" + keep + "&timeout=" + timeout + "&connections=" + connections;
    }
}
