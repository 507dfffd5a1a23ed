package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.spi.LockName;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The polls of a file of SQLite. {@code PRAGMA data_version} on a connection of its own costs a few microseconds and shows whether
 * another connection has committed; only then rows are read, and of a row that one claim holds alone only the head.
 *
 * <p>The version is looked at every {@link #SHORTEST_NANOS} while a claim of this JVM is the next one, ever more rarely the longer it has been that,
 * and more rarely the more claims wait before it: half of the pause is the average delay of a hand-over to another process.
 *
 * <p>That another client has ended the waiting of a claim which is not the first one of this JVM shows in the queue only, which is
 * read at least every {@link #QUEUE_NANOS} while the row is changed.
 */
final class FilePolls implements PollSchedule {

    private static final long SHORTEST_NANOS = TimeUnit.MICROSECONDS.toNanos(250);

    private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    /** The pause is this part of the time for which nothing has changed for a claim. */
    private static final int PART = 128;

    private static final long QUEUE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** The most names for which it is remembered when their queues were read, although nobody waits. */
    private static final int MOST_REMEMBERED = 1_000;

    /** The waiting of this JVM for one name. */
    private static final class Wait {
        /** How many claims wait before the first one of this JVM, as far as is known. */
        int position;
        /** Since when it is like this. */
        long since;

        long pause(long now) {
            return Math.max((1L + position) * SHORTEST_NANOS, (now - since) / PART);
        }
    }

    private final Map<LockName, Wait> names = new HashMap<>();
    /** Those whose pause may be shorter than the longest one. It only grows until the wait is set again. */
    private final Set<Wait> brisk = new HashSet<>();
    /** Names of which somebody was enqueued: they are looked at once, even if nothing has changed since the last poll. */
    private final Set<LockName> fresh = new HashSet<>();

    private final Map<LockName, Long> queueReadAt = new HashMap<>();
    /** Names whose head was read since their queue was. */
    private final Set<LockName> unread = new HashSet<>();

    private long unreadSince;
    private long version = -1;
    private boolean allAreDue;

    @Override
    public long firstNanos(int position) {
        return Math.min(LONGEST_NANOS, (1L + position) * SHORTEST_NANOS);
    }

    @Override
    public void enqueued(LockName name, int position, long now) {
        Wait wait = names.get(name);
        if (wait == null) {
            wait = new Wait();
            names.put(name, wait);
            set(wait, position, now);
        } else if (position < wait.position) {
            set(wait, position, now);
        }
        fresh.add(name);
    }

    private void set(Wait wait, int position, long now) {
        wait.position = position;
        wait.since = now;
        brisk.add(wait);
    }

    @Override
    public Collection<LockName> due(SerialConnection connection, long now) {
        long before = version;
        version = connection.call(turn -> turn.table().statements().dataVersion());
        List<LockName> due = List.of();
        if (allAreDue || version != before) {
            due = new ArrayList<>(names.keySet());
        } else if (!unread.isEmpty() && now - unreadSince >= QUEUE_NANOS) {
            unread.addAll(fresh);
            due = new ArrayList<>(unread);
        } else if (!fresh.isEmpty()) {
            due = new ArrayList<>(fresh);
        }
        if (!due.isEmpty()) {
            fresh.clear();
        }
        allAreDue = false;
        return due;
    }

    @Override
    public boolean readsHeads() {
        return true;
    }

    @Override
    public boolean wantsQueue(LockName name, long now) {
        Long readAt = queueReadAt.get(name);
        if (readAt != null && now - readAt < QUEUE_NANOS) {
            if (unread.isEmpty()) {
                unreadSince = now;
            }
            unread.add(name);
            return false;
        }
        unread.remove(name);
        queueReadAt.put(name, now);
        return true;
    }

    @Override
    public void read(LockName name, int position, boolean granted, long now) {
        if (position < 0) {
            brisk.remove(names.remove(name));
            unread.remove(name);
            if (queueReadAt.size() > MOST_REMEMBERED) {
                queueReadAt.remove(name);
            }
            return;
        }
        Wait wait = names.get(name);
        if (wait != null && (granted || position != wait.position)) {
            set(wait, position, now);
        }
    }

    @Override
    public void unchanged(LockName name, long now) {}

    // To look at the version costs too little to be spared by a guess.
    @Override
    public void held(LockName name, long nanos) {}

    // Also queues that could not be read are read again.
    @Override
    public void allAreDue() {
        allAreDue = true;
        queueReadAt.clear();
    }

    @Override
    public long pauseNanos(long now) {
        long pause = LONGEST_NANOS;
        for (Iterator<Wait> waits = brisk.iterator(); waits.hasNext(); ) {
            long its = waits.next().pause(now);
            if (its >= LONGEST_NANOS) {
                waits.remove();
            }
            pause = Math.min(pause, its);
        }
        return pause;
    }
}
