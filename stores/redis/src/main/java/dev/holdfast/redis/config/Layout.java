package dev.holdfast.redis.config;

import java.util.Locale;

/** How locks are stored; the option {@code layout}. */
public enum Layout {
    /** All kinds as records with a queue. */
    RECORD,
    /** Exclusive locks as strings, no other kinds. */
    PLAIN,
    /** Exclusive locks as strings, other kinds as records. */
    MIXED,
    /** The same as MIXED on a Tair server: the commands of Tair are tried first. */
    TAIR,
    /** Exclusive locks as the hashes of Redisson's {@code RLock}, no other kinds. */
    REDISSON;

    /** What the keys of all records begin with in the layouts without a queue, whatever the prefix is. */
    public static final String PLAIN_RECORDS = "holdfast:plain:";

    /** @throws IllegalArgumentException if there is no such layout */
    static Layout of(String word) {
        return switch (word) {
            case "record" -> RECORD;
            case "plain" -> PLAIN;
            case "mixed" -> MIXED;
            case "tair" -> TAIR;
            case "redisson" -> REDISSON;
            default ->
                throw new IllegalArgumentException(
                        "Option layout must be record, plain, mixed, tair or redisson, but was \"" + word + "\"");
        };
    }

    /** Whether claims of other limits than 1 are served. */
    public boolean hasAllKinds() {
        return this != PLAIN && this != REDISSON;
    }

    /**
     * The prefix if none is set. A program that shares locks with Redisson knows them by the names that Redisson gives
     * their keys.
     */
    String defaultPrefix() {
        return this == REDISSON ? "" : "holdfast:";
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
