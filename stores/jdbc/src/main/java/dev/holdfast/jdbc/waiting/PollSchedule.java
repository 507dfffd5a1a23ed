package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.SerialConnection;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** How often a poller asks, and whether there is a cheaper question than reading the rows. For one thread. */
public interface PollSchedule {

    /**
     * What one poll did.
     *
     * @param news whether something happened to a claim that waits here
     * @param statements how many statements read rows
     */
    record Poll(boolean news, int statements) {}

    /** Whether rows may have changed since the last time this was asked. */
    boolean isWorthReading(SerialConnection lane);

    /** How long to wait after a poll. */
    long pauseNanos(Poll last);

    /**
     * SQLite: {@code PRAGMA data_version} on a connection of its own costs a few microseconds and says whether anybody has
     * committed. It is asked every millisecond at first, then more seldom, at last every few milliseconds: half of that is
     * what a hand-over to another process costs on average.
     */
    final class DataVersion implements PollSchedule {

        private static final long SHORTEST_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
        private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

        private long pause = SHORTEST_NANOS;
        private long version = -1;

        @Override
        public boolean isWorthReading(SerialConnection lane) {
            long before = version;
            version = lane.call(turn -> turn.table().statements().dataVersion());
            return version != before;
        }

        @Override
        public long pauseNanos(Poll last) {
            pause = last.news() ? SHORTEST_NANOS : Math.min(LONGEST_NANOS, pause + pause / 32);
            return pause;
        }
    }

    /**
     * A server, which is asked for the rows themselves: at most 20 statements a second, however many claims wait, and not
     * in step with other clients.
     */
    final class Rows implements PollSchedule {

        private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

        /** When the database pushes, a poll finds only what was lost. */
        private static final long INTERVAL_BESIDE_PUSHES_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

        private final long intervalNanos;

        public Rows(boolean besidePushes) {
            this.intervalNanos = besidePushes ? INTERVAL_BESIDE_PUSHES_NANOS : INTERVAL_NANOS;
        }

        @Override
        public boolean isWorthReading(SerialConnection lane) {
            return true;
        }

        // A tenth of jitter is enough to part the clients, and keeps the middle of a hand-over below 30 ms.
        @Override
        public long pauseNanos(Poll last) {
            long interval = intervalNanos * Math.max(1, last.statements());
            return interval + ThreadLocalRandom.current().nextLong(intervalNanos / 10);
        }
    }
}
