package dev.holdfast.internal;

import dev.holdfast.LockConflictException;
import dev.holdfast.LockException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which threads hold one resource through {@code lock()}, and how often: re-entry without a trip. Guarded by the
 * resource's mutex.
 *
 * <p>A thread has one hold at most. A writer that takes the read lock too counts both on the same hold.
 */
final class ThreadHolds {

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

        int of(Request request) {
            return request.isExclusive() ? exclusive : shared;
        }

        boolean isOnlyShared() {
            return exclusive == 0;
        }

        boolean isNone() {
            return exclusive == 0 && shared == 0;
        }

        private void add(Request request, int n) {
            if (request.isExclusive()) {
                exclusive = Math.addExact(exclusive, n);
            } else {
                shared = Math.addExact(shared, n);
            }
        }
    }

    /** Empty and shared until a thread holds: many resources are held through leases only. */
    private Map<Thread, Counts> threads = Map.of();

    boolean isEmpty() {
        return threads.isEmpty();
    }

    boolean has(Thread thread) {
        return threads.containsKey(thread);
    }

    Set<Thread> threads() {
        return threads.keySet();
    }

    @Nullable
    Counts of(Thread thread) {
        return threads.get(thread);
    }

    /** A thread's first hold. */
    void begin(Thread thread, Hold hold) {
        Counts counts = new Counts(hold);
        counts.add(hold.request(), 1);
        if (threads.isEmpty()) {
            threads = new HashMap<>(4);
        }
        threads.put(thread, counts);
    }

    /** Gives up one count. Returns null if the thread has none for such a request; a hold without counts is forgotten. */
    @Nullable
    Counts leave(Thread thread, Request request) {
        Counts counts = threads.get(thread);
        if (counts == null || counts.of(request) == 0 || counts.hold.request().limit() != request.limit()) {
            return null;
        }
        counts.add(request, -1);
        if (counts.isNone()) {
            threads.remove(thread);
        }
        return counts;
    }

    /**
     * Takes the lock once more for a thread that holds it.
     *
     * @param wouldWait whether the caller would wait for what he cannot have; a {@code tryLock} is just told so
     * @return the thread's hold; null if a {@code tryLock} cannot have it
     */
    @Nullable
    Hold reenter(Thread thread, Request request, boolean wouldWait, Engine engine) {
        Counts counts = threads.get(thread);
        if (counts == null) {
            return null;
        }
        if (counts.hold.request().limit() != request.limit()) {
            throw new LockConflictException(
                    "Thread " + thread.getName() + " holds \"" + request.name() + "\" as another kind of lock", null);
        }
        if (!counts.hold.isHeld(engine.now())) {
            throw counts.hold.lostException(engine);
        }
        String refusal = refusal(thread, request, counts);
        if (refusal != null) {
            if (wouldWait) {
                throw new LockException(refusal);
            }
            return null;
        }
        counts.add(request, 1);
        return counts.hold;
    }

    private static @Nullable String refusal(Thread thread, Request request, Counts counts) {
        if (request.isExclusive() && counts.exclusive == 0) {
            return "Thread " + thread.getName() + " holds the read lock \"" + request.name()
                    + "\" and asked for the write lock: it would wait for itself. Release the read lock first";
        }
        if (!request.reentrant() && counts.of(request) > 0) {
            return "Thread " + thread.getName() + " holds \"" + request.name()
                    + "\" already, and this lock is not re-entrant: it would wait for itself";
        }
        return null;
    }
}
