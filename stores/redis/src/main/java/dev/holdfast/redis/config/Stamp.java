package dev.holdfast.redis.config;

import java.util.Arrays;
import java.util.stream.Collectors;

/** The form of the time stamps of {@code layout=timestamps}; the option {@code stamp}. */
public enum Stamp {
    /** Milliseconds since 1970. */
    MILLIS("millis", 1_000, false),
    /** Seconds since 1970. */
    SECONDS("seconds", 1_000_000, false),
    /** Milliseconds, a vertical bar, and a text that names the owner. */
    MILLIS_OWNER("millis-owner", 1_000, true),
    /** Seconds, a vertical bar, and a text that names the owner. */
    SECONDS_OWNER("seconds-owner", 1_000_000, true);

    private final String word;
    private final int micros;
    private final boolean named;

    Stamp(String word, int micros, boolean named) {
        this.word = word;
        this.micros = micros;
        this.named = named;
    }

    /** @throws IllegalArgumentException if there is no such form */
    static Stamp of(String word) {
        return Arrays.stream(values())
                .filter(stamp -> stamp.word.equals(word))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("Option stamp must be one of "
                        + Arrays.stream(values()).map(Stamp::toString).collect(Collectors.joining(", "))
                        + ", but was \""
                        + word + "\""));
    }

    /** The microseconds of one unit. */
    public int micros() {
        return micros;
    }

    /** Whether a stamp names its owner. */
    public boolean isNamed() {
        return named;
    }

    @Override
    public String toString() {
        return word;
    }
}
