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
 * is further back reads it when those before him will have had their turn. He expects each of them to hold the lock for as long as
 * this client does, and a little that passes until a grant is noticed; the less the more his own holds vary, and not much more than
 * the pace at which he has seen the queue move. That pace alone would be no good guess: it contains the times for which the lock was
 * granted to somebody who slept, so that all sleep ever longer. A client that has not held the lock yet reads the row when half of
 * those before him will have had their turn, by that pace; {@link #UNKNOWN_PACE_NANOS} for each place as long as he has not seen it.
 * So a waiter comes to the front with a few polls, and not with one in each interval. Claims that one release grants together, as
 * readers behind a writer, have one position.
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

    /** How long it takes on average until the first in a queue reads that it is granted: half a pause. The read is part of the hold. */
    private static final long NOTICE_NANOS = SHORTEST_NANOS / 2;

    /** The weight of one hold among those before. */
    private static final int HOLD_PART = 8;

    /** While holds are known to be long, the first in a queue need not poll as often as it can. */
    private static final int PART_OF_HOLD = 4;

    private static final long LONGEST_BY_HOLD_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    /** How far the pace at which the queue moves is believed against the holds of this client. */
    private static final int LEAST_PART_OF_PACE = 8;

    private static final int DOUBTED_PART_OF_PACE = 10;

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

        /** How long this client holds the lock; 0 if that is not known. */
        long hold;
        /** By how much its holds differ from that. */
        long deviation;

        /** The pause before the poll that comes next. */
        long pause;

        long due;

        Polls(LockName name) {
            this.name = name;
        }

        void learnHold(long nanos) {
            if (hold == 0) {
                hold = Math.max(1, nanos);
                deviation = hold / 2;
                return;
            }
            // A single long hold must not have all others come late.
            long bounded = Math.min(nanos, 4 * hold);
            deviation += (Math.abs(bounded - hold) - deviation) / HOLD_PART;
            hold = Math.max(1, hold + (bounded - hold) / HOLD_PART);
        }

        /** How long one place before this client's claim may take at the least, as far as is known. */
        long place() {
            if (hold == 0) {
                return (pace == 0 ? UNKNOWN_PACE_NANOS : pace) / 2;
            }
            long expected = hold + NOTICE_NANOS;
            long surely = expected - Math.min(deviation, expected) / 2;
            return pace == 0
                    ? surely
                    : Math.max(pace / LEAST_PART_OF_PACE, Math.min(surely, pace - pace / DOUBTED_PART_OF_PACE));
        }

        /** Clients that would poll at the same moment are spread; those that know when their turns come are spread by that. */
        long jitter() {
            return pause / (position > 0 && hold != 0 ? 50 : 10);
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
        return now + polls.pause + random.applyAsLong(polls.jitter() + 1);
    }

    private long pause(Polls polls, long age) {
        if (isPushed.getAsBoolean()) {
            return (polls.position + 1) * BESIDE_PUSHES_NANOS;
        }
        if (polls.position == 0) {
            long late = Math.max(Math.min(age / PART, LONGEST_NANOS), Math.min(age / LATE_PART, LONGEST_LATE_NANOS));
            return Math.max(Math.max(SHORTEST_NANOS, late), Math.min(polls.hold / PART_OF_HOLD, LONGEST_BY_HOLD_NANOS));
        }
        long idle = Math.min(age, polls.position * LONGEST_LATE_NANOS) / 4;
        long soon = Math.max(polls.position * polls.place(), idle);
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
    public void held(LockName name, long nanos) {
        Polls polls = names.get(name);
        if (polls != null) {
            polls.learnHold(nanos);
        }
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
