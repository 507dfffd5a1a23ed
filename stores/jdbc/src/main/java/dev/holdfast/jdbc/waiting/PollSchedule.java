package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.SerialConnection;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * How often a poller polls, and whether a check cheaper than reading the rows comes first. Used by one thread only.
 */
public interface PollSchedule {

    /**
     * The result of one poll.
     *
     * @param changed whether the poll found a change for a claim that waits here, or a claim was added before it
     * @param statements how many statements read rows
     */
    record Poll(boolean changed, int statements) {}

    /** Whether rows may have changed since the last call. */
    boolean isWorthReading(SerialConnection connection);

    /** How long to wait after a poll. */
    long pauseNanos(Poll last);

    /**
     * SQLite: {@code PRAGMA data_version} on a connection of its own costs a few microseconds and shows whether
     * another connection has committed. It runs every millisecond at first, then less often, at last every few
     * milliseconds: half of that is the average delay of a hand-over to another process.
     */
    final class DataVersion implements PollSchedule {

        /** The first pause, and the pause after a change. */
        private static final long SHORTEST_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
        /** The longest pause, which is reached if nothing changes. */
        private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

        private long pause = SHORTEST_NANOS;
        private long version = -1;

        @Override
        public boolean isWorthReading(SerialConnection connection) {
            long before = version;
            version = connection.call(turn -> turn.table().statements().dataVersion());
            return version != before;
        }

        @Override
        public long pauseNanos(Poll last) {
            pause = last.changed() ? SHORTEST_NANOS : Math.min(LONGEST_NANOS, pause + pause / 32);
            return pause;
        }
    }

    /**
     * A server: each poll reads the rows themselves, with at most 20 statements a second, however many claims wait,
     * and with jitter so that clients do not poll at the same moments.
     */
    final class Rows implements PollSchedule {

        private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

        /** When the database pushes, polls are rare: a poll finds only those grants whose notification was lost. */
        private static final long INTERVAL_BESIDE_PUSHES_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

        private final long intervalNanos;

        public Rows(boolean besidePushes) {
            this.intervalNanos = besidePushes ? INTERVAL_BESIDE_PUSHES_NANOS : INTERVAL_NANOS;
        }

        @Override
        public boolean isWorthReading(SerialConnection connection) {
            return true;
        }

        // A jitter of one tenth is enough to spread the clients, and keeps the median of a hand-over below 30 ms.
        @Override
        public long pauseNanos(Poll last) {
            long interval = intervalNanos * Math.max(1, last.statements());
            return interval + ThreadLocalRandom.current().nextLong(intervalNanos / 10);
        }
    }
}
