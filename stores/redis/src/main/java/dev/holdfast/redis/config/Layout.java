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
    REDISSON,
    /** Exclusive locks as the time stamps of {@code SETNX} and {@code GETSET}, no other kinds. */
    TIMESTAMPS;

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
            case "timestamps" -> TIMESTAMPS;
            default ->
                throw new IllegalArgumentException(
                        "Option layout must be record, plain, mixed, tair, redisson or timestamps, but was \"" + word
                                + "\"");
        };
    }

    /** Whether claims of other limits than 1 are served. */
    public boolean hasAllKinds() {
        return this == RECORD || (isOfStrings() && this != PLAIN);
    }

    /** Whether an exclusive lock is the string of {@code SET NX PX}, which single commands may compare. */
    public boolean isOfStrings() {
        return this == PLAIN || this == MIXED || this == TAIR;
    }

    /** The prefix if none is set. Who shares locks with such programs knows them by the names of their keys. */
    String defaultPrefix() {
        return this == REDISSON || this == TIMESTAMPS ? "" : "holdfast:";
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
