package dev.holdfast.zookeeper.claim;

import java.util.NavigableSet;
import java.util.TreeSet;

/**
 * The times at which checks are scheduled. Each check looks at everything, so one more is needed only if it comes before all others.
 * Thread-safe.
 */
final class PendingChecks {

    // A monotonic clock may overflow.
    private final NavigableSet<Long> times = new TreeSet<>((one, other) -> Long.signum(one - other));

    /** Whether a check must be scheduled in addition, so that there is one at this time or before it. */
    synchronized boolean add(long at) {
        if (!times.isEmpty() && times.first() - at <= 0) {
            return false;
        }
        times.add(at);
        return true;
    }

    /** The check of this time has begun. */
    synchronized void begun(long at) {
        times.remove(at);
    }
}
