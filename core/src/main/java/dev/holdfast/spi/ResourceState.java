package dev.holdfast.spi;

import java.time.Duration;
import java.util.List;

/**
 * What a store knew of a resource when it was asked; it may have changed since.
 *
 * @param name the resource
 * @param limit how much it has in all; 0 for a wait set, and for a resource that nobody uses
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
     * @param claim the claim, with which it can be released
     * @param counter the grant's number; 0 for a waiter
     * @param age how long it has held or waited
     * @param remaining how long its grant or ticket lives unless it is renewed
     */
    public record Entry(Claim claim, long counter, Duration age, Duration remaining) {}
}
