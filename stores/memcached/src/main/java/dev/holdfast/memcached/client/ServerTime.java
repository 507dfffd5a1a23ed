package dev.holdfast.memcached.client;

/**
 * What one reading of the server's clock says about its time, in microseconds.
 *
 * <p>The server counts seconds with a timer, so what it says is behind its own monotonic clock by less than two
 * seconds: one until the timer fires, and one that is cut off. A little more is allowed for a timer that fires late.
 *
 * @param started when the server process started. It is the same number for all clients of the process.
 * @param tick what the server's clock said; its time is at least this from then on
 * @param askedAt when it was asked, by the client's monotonic clock
 */
public record ServerTime(long started, long tick, long askedAt) {

    private static final long MOST_BEHIND_MICROS = 2_250_000;

    /** A hundredth more than the client's clock has counted, because the server's may run faster. */
    private static final long DRIFT = 100;

    /**
     * A time that the server's clock has certainly not passed.
     *
     * @param nanoTime the client's monotonic clock
     */
    public long latest(long nanoTime) {
        long passed = (nanoTime - askedAt) / 1_000;
        return tick + MOST_BEHIND_MICROS + passed + passed / DRIFT;
    }
}
