package dev.holdfast.internal;

import java.util.concurrent.ThreadLocalRandom;

/** Waits between attempts: doubling, bounded, and jittered so that clients that failed together do not return together. */
final class Backoff {

    private static final int MOST_DOUBLINGS = 30;

    private Backoff() {}

    /** A wait in nanoseconds: half to all of {@code first * 2^tries}, and never above {@code most}. */
    static long jittered(int tries, long first, long most) {
        long full = Math.min(most, first << Math.min(tries, MOST_DOUBLINGS));
        if (full <= 0) {
            full = most;
        }
        return full / 2 + ThreadLocalRandom.current().nextLong(full / 2 + 1);
    }
}
