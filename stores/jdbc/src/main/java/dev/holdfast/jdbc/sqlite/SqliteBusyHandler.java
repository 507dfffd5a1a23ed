package dev.holdfast.jdbc.sqlite;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import org.sqlite.BusyHandler;

/**
 * Makes a connection wait in short steps with jitter until it may write to the file.
 *
 * <p>SQLite's own waits grow to 100 ms within a few tries. A process whose threads write one after the other leaves
 * the file free for microseconds at a time, and a connection with long waits finds such a moment only by chance: in
 * measurements it waited for more than a second.
 */
final class SqliteBusyHandler extends BusyHandler {

    /** The mean of the first waits. */
    private static final long SHORTEST_NANOS = 50_000;
    /** The mean of the later waits. */
    private static final long LONGEST_NANOS = 1_000_000;

    /** The number of short waits before the long ones. An undisturbed write takes less time than these. */
    private static final int SHORT_WAITS = 40;

    private final long mostNanos;
    private long begun;

    SqliteBusyHandler(Duration most) {
        this.mostNanos = most.toNanos();
    }

    // This uses the system's time: the thread really waits, also in a test whose clock stands still.
    @Override
    protected int callback(int waits) {
        long now = System.nanoTime();
        if (waits == 0) {
            begun = now;
        } else if (now - begun >= mostNanos) {
            return 0;
        }
        long pause = waits < SHORT_WAITS ? SHORTEST_NANOS : LONGEST_NANOS;
        LockSupport.parkNanos(pause / 2 + ThreadLocalRandom.current().nextLong(pause));
        return 1;
    }
}
