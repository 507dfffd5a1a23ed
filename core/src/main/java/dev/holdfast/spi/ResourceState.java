package dev.holdfast.spi;

import java.time.Duration;
import java.util.List;

/**
 * What a store knew about a resource when it was asked. The state may have changed since then.
 *
 * @param name the resource
 * @param limit how many permits it has in all; 0 for a wait set, and for a resource that nobody uses
 * @param counter the number of the newest grant; 0 if there was none
 * @param holders the live grants, oldest first
 * @param waiters the live waiters, first in the queue first
 */
public record ResourceState(LockName name, int limit, long counter, List<Entry> holders, List<Entry> waiters) {

    public ResourceState {
        holders = List.copyOf(holders);
        waiters = List.copyOf(waiters);
    }

    /** Whether anybody holds or waits. */
    public boolean isInUse() {
        return !holders.isEmpty() || !waiters.isEmpty();
    }

    /**
     * One holder or waiter.
     *
     * @param claim the claim; it can be passed to {@link LockStore#release}
     * @param counter the grant's number; 0 for a waiter
     * @param age how long it has held or waited
     * @param remaining how long its grant or ticket still lasts if it is not renewed
     */
    public record Entry(Claim claim, long counter, Duration age, Duration remaining) {

        /** The smallest fencing token of the grant; 0 for a waiter. */
        public long firstToken() {
            return counter * Granted.TOKENS_PER_GRANT;
        }
    }
}
