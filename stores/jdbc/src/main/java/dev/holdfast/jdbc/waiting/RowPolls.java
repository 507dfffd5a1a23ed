package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.spi.LockName;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongUnaryOperator;

/**
 * The polls of a database server: each name has a time at which its row is read next.
 *
 * <p>Who is first in a queue can be granted the lock at any moment, and so reads its row often: every {@link #SHORTEST_NANOS} at
 * first, and ever more rarely the longer it has been first, because then another short while matters less. Who
 * is further back reads it when half of those before him will have had their turn, by the pace at which he has seen the queue
 * move; {@link #UNKNOWN_PACE_NANOS} for each place as long as he has not. So a waiter in position p takes about log2(p) polls to
 * come to the front, and not one in each interval. Claims that one release grants together, as readers behind a writer, have
 * one position.
 *
 * <p>Where the database pushes, a poll finds only those grants whose notification was lost, and polls are rare.
 */
final class RowPolls implements PollSchedule {

    private static final long SHORTEST_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    /** The pause of the first in a queue is this part of the time that it has been first. */
    private static final int PART = 16;

    /** The longest pause of the first in a queue, and after some seconds. */
    private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** A poll may come by this part of its pause early, if another one is made at that moment. */
    private static final int EARLY_PART = 4;

    private static final int LATE_PART = 100;
    private static final long LONGEST_LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private static final long UNKNOWN_PACE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** The shortest and the longest pause of the others. The refreshes of their tickets show grants, too. */
    private static final long OTHERS_SHORTEST_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private static final long OTHERS_LONGEST_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** The pause for each place when the database pushes. */
    private static final long BESIDE_PUSHES_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** The most names whose pace is remembered while nobody waits for them. */
    private static final int MOST_REMEMBERED = 1_000;

    /** The polls of one name. */
    private static final class Polls {
        final LockName name;
        /** The position of the first claim of this client, as it was last seen. */
        int position;
        /** Since when it has this position. */
        long since;
        /** How long the queue takes for one place; 0 if that is not known. */
        long pace;

        /** The pause before the poll that comes next. */
        long pause;

        long due;

        Polls(LockName name) {
            this.name = name;
        }
    }

    private final BooleanSupplier isPushed;
    private final LongUnaryOperator random;
    private final Map<LockName, Polls> names = new HashMap<>();
    /** Those of names for which claims wait, by the time at which they are due. */
    private final TreeSet<Polls> waiting = new TreeSet<>(RowPolls::compare);

    private boolean allAreDue;

    private static int compare(Polls one, Polls other) {
        int first = Long.signum(one.due - other.due); // the clock may begin anywhere
        return first != 0 ? first : one.name.compareTo(other.name);
    }

    /**
     * @param isPushed whether the database notifies this client now
     * @param random a random number from 0 to below a bound
     */
    RowPolls(BooleanSupplier isPushed, LongUnaryOperator random) {
        this.isPushed = isPushed;
        this.random = random;
    }

    @Override
    public long firstNanos(int position) {
        return isPushed.getAsBoolean() ? BESIDE_PUSHES_NANOS : position == 0 ? SHORTEST_NANOS : OTHERS_SHORTEST_NANOS;
    }

    @Override
    public void enqueued(LockName name, int position, long now) {
        Polls polls = names.computeIfAbsent(name, Polls::new);
        boolean waited = waiting.remove(polls);
        if (!waited || position < polls.position) {
            polls.position = position;
            polls.since = now;
        }
        long before = polls.due;
        polls.due = next(polls, now);
        // Those that waited already are looked for when they would have been.
        if (waited && before - polls.due < 0) {
            polls.due = before;
        }
        waiting.add(polls);
    }

    private void schedule(Polls polls, long now) {
        polls.due = next(polls, now);
        waiting.add(polls);
    }

    private long next(Polls polls, long now) {
        polls.pause = pause(polls, now - polls.since);
        // The jitter spreads clients that would poll at the same moments.
        return now + polls.pause + random.applyAsLong(polls.pause / 10 + 1);
    }

    private long pause(Polls polls, long age) {
        if (isPushed.getAsBoolean()) {
            return (polls.position + 1) * BESIDE_PUSHES_NANOS;
        }
        if (polls.position == 0) {
            long late = Math.min(age / LATE_PART, LONGEST_LATE_NANOS);
            return Math.max(SHORTEST_NANOS, Math.max(late, Math.min(age / PART, LONGEST_NANOS)));
        }
        long pace = polls.pace == 0 ? UNKNOWN_PACE_NANOS : polls.pace;
        long soon = Math.max(polls.position * pace / 2, Math.min(age, polls.position * LONGEST_LATE_NANOS) / 4);
        return Math.min(Math.max(soon, OTHERS_SHORTEST_NANOS), OTHERS_LONGEST_NANOS);
    }

    @Override
    public Collection<LockName> due(SerialConnection connection, long now) {
        List<LockName> due = new ArrayList<>();
        if (allAreDue || pauseNanos(now) == 0) {
            takeDue(now, due);
        }
        allAreDue = false;
        return due;
    }

    // One statement reads many rows, so it takes along what is nearly due.
    private void takeDue(long now, List<LockName> due) {
        for (Iterator<Polls> all = waiting.iterator(); all.hasNext(); ) {
            Polls polls = all.next();
            long left = polls.due - now;
            if (!allAreDue && left > LONGEST_NANOS / EARLY_PART) {
                return;
            }
            if (allAreDue || left <= Math.min(polls.pause, LONGEST_NANOS) / EARLY_PART) {
                all.remove();
                due.add(polls.name);
            }
        }
    }

    @Override
    public void read(LockName name, int position, boolean granted, long now) {
        Polls polls = names.get(name);
        if (polls == null) {
            return;
        }
        int moved = granted ? polls.position + 1 : polls.position - position;
        if (moved > 0 && (granted || position >= 0)) {
            long pace = Math.max(1, (now - polls.since) / moved);
            // A single long hold must not have all others come late.
            polls.pace = polls.pace == 0 ? pace : (polls.pace + Math.min(pace, 4 * polls.pace)) / 2;
        }
        waiting.remove(polls);
        if (position < 0) {
            if (names.size() > MOST_REMEMBERED) {
                names.remove(name);
            }
            return;
        }
        if (moved != 0) {
            polls.since = now;
        }
        polls.position = position;
        schedule(polls, now);
    }

    @Override
    public void unchanged(LockName name, long now) {
        Polls polls = names.get(name);
        if (polls != null) {
            schedule(polls, now);
        }
    }

    @Override
    public void allAreDue() {
        allAreDue = true;
    }

    @Override
    public long pauseNanos(long now) {
        return allAreDue ? 0 : waiting.isEmpty() ? OTHERS_LONGEST_NANOS : Math.max(0, waiting.first().due - now);
    }
}
