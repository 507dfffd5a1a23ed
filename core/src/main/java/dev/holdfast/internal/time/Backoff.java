package dev.holdfast.internal.time;

/**
 * Waits between attempts: each is twice as long as the one before up to a limit, and jittered, so that clients that failed
 * together do not return together.
 *
 * @param first the first wait in nanoseconds
 * @param most the longest wait in nanoseconds
 */
public record Backoff(long first, long most) {

    private static final int MOST_DOUBLINGS = 30;

    /** A wait in nanoseconds: half to all of {@code first * 2^tries}, and never above {@code most}. */
    public long after(int tries, Uptime time) {
        long full = Math.min(most, first << Math.min(tries, MOST_DOUBLINGS));
        if (full <= 0) {
            full = most;
        }
        return full / 2 + time.random(full / 2 + 1);
    }
}
