package dev.holdfast.jdbc.row;

import dev.holdfast.spi.MonotonicClock;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Removes the rows of locks that were idle for long, a few at a time, along with renewals. Short-lived clients,
 * which never renew, leave this to the others. Each step continues where the previous one ended. The first step
 * begins at a name that was just renewed, so that clients that live for one step only do not all look at the same
 * rows. Used by one thread only.
 */
public final class IdleRowCleaner {

    /** The most rows that one step looks at. */
    public static final int STEP = 200;

    /** The time limit of one step. It is short because the answer to a renewal waits for the step. */
    private static final Duration MAX_TIME = Duration.ofMillis(20);

    /** The shortest time between two steps. */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final long keepMicros;
    private final MonotonicClock clock;
    private String from = "";
    private long last;
    private boolean begun;

    public IdleRowCleaner(Duration keep, MonotonicClock clock) {
        this.keepMicros = RowCodec.micros(keep);
        this.clock = clock;
    }

    /** Does one step, unless the last one began less than {@code PAUSE_NANOS} ago. */
    public void step(LockTable table, String renewed) throws SQLException {
        long now = clock.nanoTime();
        if (begun && now - last < PAUSE_NANOS) {
            return;
        }
        if (!begun) {
            from = renewed;
        }
        begun = true;
        last = now;
        from = table.removeIdle(from, keepMicros, STEP, MAX_TIME);
    }
}
