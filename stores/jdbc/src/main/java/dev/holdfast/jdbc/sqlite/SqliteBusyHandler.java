package dev.holdfast.jdbc.sqlite;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import org.sqlite.BusyHandler;

/**
 * How a connection waits for its turn to write the file: in short steps with jitter.
 *
 * <p>SQLite's own waits grow to 100 ms within a few tries. A process whose threads write back to back leaves the file free
 * for microseconds at a time, and a sleeper of that kind meets such a moment by luck only: it was seen to wait for more
 * than a second.
 */
final class SqliteBusyHandler extends BusyHandler {

    private static final long SHORTEST_NANOS = 50_000;
    private static final long LONGEST_NANOS = 1_000_000;

    /** So many short waits come before they grow: an undisturbed write takes less. */
    private static final int SHORT_WAITS = 40;

    private final long mostNanos;
    private long begun;

    SqliteBusyHandler(Duration most) {
        this.mostNanos = most.toNanos();
    }

    // By the system's time: somebody really waits, also under a test's clock that stands still.
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
