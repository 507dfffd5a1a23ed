package dev.holdfast.internal.cohort;

import dev.holdfast.LockConflictException;
import dev.holdfast.LockException;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.spi.LockName;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which threads hold one name through {@code lock()}, and how often: re-entry without a trip. Guarded by the mutex of the
 * lock.
 *
 * <p>A thread has one hold at most. A writer that takes the read lock too counts both on the same hold.
 */
final class ReentrantHolds {

    /** A thread's hold and its counts. */
    static final class Counts {
        private final Hold hold;
        private int exclusive;
        private int shared;

        private Counts(Hold hold) {
            this.hold = hold;
        }

        Hold hold() {
            return hold;
        }

        int of(LockSpec spec) {
            return spec.isExclusive() ? exclusive : shared;
        }

        boolean isOnlyShared() {
            return exclusive == 0;
        }

        boolean isNone() {
            return exclusive == 0 && shared == 0;
        }

        void add(LockSpec spec, int n) {
            if (spec.isExclusive()) {
                exclusive = Math.addExact(exclusive, n);
            } else {
                shared = Math.addExact(shared, n);
            }
        }
    }

    private final LockName name;
    /** The first of the threads that hold; null if there is none, or if it has left and others go on. */
    private @Nullable Thread first;

    private @Nullable Counts countsOfFirst;
    /** All other threads. Empty and shared until there is one: mostly one thread holds a name. */
    private Map<Thread, Counts> others = Map.of();

    ReentrantHolds(LockName name) {
        this.name = name;
    }

    boolean isEmpty() {
        return first == null && others.isEmpty();
    }

    @Nullable
    Counts of(Thread thread) {
        return thread == first ? countsOfFirst : others.get(thread);
    }

    /** A thread's first hold. */
    void begin(Thread thread, Hold hold) {
        Counts counts = new Counts(hold);
        counts.add(hold.spec(), 1);
        if (first == null) {
            first = thread;
            countsOfFirst = counts;
            return;
        }
        if (others.isEmpty()) {
            others = new HashMap<>(4);
        }
        others.put(thread, counts);
    }

    private void forget(Thread thread) {
        if (thread == first) {
            first = null;
            countsOfFirst = null;
        } else {
            others.remove(thread);
        }
    }

    /** Gives up one count. Returns null if the thread has none for such a lock; a hold without counts is forgotten. */
    @Nullable
    Counts leave(Thread thread, LockSpec spec) {
        Counts counts = of(thread);
        if (counts == null || counts.of(spec) == 0 || counts.hold.spec().limit() != spec.limit()) {
            return null;
        }
        counts.add(spec, -1);
        if (counts.isNone()) {
            forget(thread);
        }
        return counts;
    }

    /** Forgets threads that have died: nobody can unlock for them. */
    void forgetDeadThreads() {
        if (first != null && !first.isAlive()) {
            forget(first);
        }
        if (!others.isEmpty()) {
            others.keySet().removeIf(thread -> !thread.isAlive());
        }
    }

    /**
     * Whether a thread can take the lock once more.
     *
     * @param counts of the thread, which holds it
     * @param wouldWait whether the caller would wait for what it cannot have; a {@code tryLock} just fails
     */
    boolean mayReenter(Thread thread, Counts counts, LockSpec spec, boolean wouldWait) {
        if (counts.hold.spec().limit() != spec.limit()) {
            throw new LockConflictException(
                    "Thread " + thread.getName() + " holds \"" + name + "\" as another kind of lock", null);
        }
        if (!counts.hold.isHeld()) {
            throw counts.hold.lostException();
        }
        String refusal = refusal(thread, spec, counts);
        if (refusal != null) {
            if (wouldWait) {
                throw new LockException(refusal);
            }
            return false;
        }
        return true;
    }

    private @Nullable String refusal(Thread thread, LockSpec spec, Counts counts) {
        if (spec.isExclusive() && counts.exclusive == 0) {
            return "Thread " + thread.getName() + " holds the read lock \"" + name
                    + "\" and asked for the write lock: it would wait for itself. Release the read lock first";
        }
        if (!spec.reentrant() && counts.of(spec) > 0) {
            return "Thread " + thread.getName() + " holds \"" + name
                    + "\" already, and this lock is not re-entrant: it would wait for itself";
        }
        return null;
    }
}
