package dev.holdfast.testkit;

import java.util.concurrent.ThreadLocalRandom;

/**
 * The seeds of the tests' random numbers. The seed of a JVM is random, or set by {@code -Dholdfast.seed=NUMBER} to
 * reproduce a failure. It is printed once.
 */
public final class Seeds {

    /** The system property that sets the seed. */
    public static final String PROPERTY = "holdfast.seed";

    private static final long BASE = base();

    private Seeds() {}

    /** A seed for one purpose. It is the same for the same purpose and JVM seed, no matter what has run before. */
    public static long of(String purpose) {
        long mixed = BASE;
        for (int i = 0; i < purpose.length(); i++) {
            mixed = 31 * mixed + purpose.charAt(i);
        }
        return mixed * 0x9E3779B97F4A7C15L;
    }

    private static long base() {
        Long given = Long.getLong(PROPERTY);
        long seed = given != null ? given : ThreadLocalRandom.current().nextLong();
        System.out.println("Seed of this JVM's tests: repeat with -D" + PROPERTY + "=" + seed);
        return seed;
    }
}
