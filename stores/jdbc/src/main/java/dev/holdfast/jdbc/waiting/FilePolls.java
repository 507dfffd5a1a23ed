package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.spi.LockName;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The polls of a file of SQLite: {@code PRAGMA data_version} on a connection of its own costs a few microseconds and shows whether
 * another connection has committed. It runs every millisecond at first, then less often, at last every few
 * milliseconds: half of that is the average delay of a hand-over to another process.
 */
final class FilePolls implements PollSchedule {

    /** The first pause, and the pause after a change. */
    private static final long SHORTEST_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    /** The longest pause, which is reached if nothing changes. */
    private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private final Set<LockName> names = new HashSet<>();
    private long pause = SHORTEST_NANOS;
    private long version = -1;
    private boolean changed;

    @Override
    public long firstNanos(int position) {
        return LONGEST_NANOS;
    }

    // It must be looked at once, even if nothing has changed since the last poll.
    @Override
    public void enqueued(LockName name, int position, long now) {
        names.add(name);
        changed = true;
    }

    @Override
    public Collection<LockName> due(SerialConnection connection, long now) {
        long before = version;
        version = connection.call(turn -> turn.table().statements().dataVersion());
        boolean isNew = changed;
        changed = false;
        pause = isNew ? SHORTEST_NANOS : Math.min(LONGEST_NANOS, pause + pause / 32);
        return isNew || version != before ? new ArrayList<>(names) : List.of();
    }

    @Override
    public void read(LockName name, int position, boolean granted, long now) {
        if (position < 0) {
            names.remove(name);
        }
        if (granted) {
            pause = SHORTEST_NANOS;
        }
    }

    @Override
    public void unchanged(LockName name, long now) {}

    // To look at the version costs too little to be spared by a guess.
    @Override
    public void held(LockName name, long nanos) {}

    @Override
    public void allAreDue() {
        changed = true;
    }

    @Override
    public long pauseNanos(long now) {
        return pause;
    }
}
