package dev.holdfast.spring.locked;

import dev.holdfast.LockLostException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** The locks of the calls that are under way on each thread, the innermost first. */
final class HeldLocks {

    private static final ThreadLocal<@Nullable Deque<HeldLock>> OF_THREAD = new ThreadLocal<>();

    private HeldLocks() {}

    static void push(HeldLock held) {
        Deque<HeldLock> all = OF_THREAD.get();
        if (all == null) {
            all = new ArrayDeque<>();
            OF_THREAD.set(all);
        }
        all.push(held);
    }

    static boolean contains(HeldLock held) {
        Deque<HeldLock> all = OF_THREAD.get();
        return all != null && all.contains(held);
    }

    /** Not always the innermost: a lock that is held until the end of a transaction outlives its call. */
    static void remove(HeldLock held) {
        Deque<HeldLock> all = OF_THREAD.get();
        if (all != null) {
            all.removeIf(each -> each == held);
            if (all.isEmpty()) {
                OF_THREAD.remove();
            }
        }
    }

    /** The lock of a call further out under which this one runs, too; null if it needs one of its own. */
    static @Nullable HeldLock covering(LockRequest request) {
        Deque<HeldLock> all = OF_THREAD.get();
        if (all != null) {
            for (HeldLock held : all) {
                if (held.covers(request)) {
                    return held;
                }
            }
        }
        return null;
    }

    /**
     * What a transaction asks before it commits.
     *
     * @throws LockLostException if one of the thread's locks was lost
     */
    static void requireNoneLost() {
        Deque<HeldLock> all = OF_THREAD.get();
        if (all != null) {
            for (HeldLock held : all) {
                LockLostException loss = held.loss();
                if (loss != null) {
                    throw loss;
                }
            }
        }
    }
}
