package dev.holdfast.engine.simulation;

import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import java.util.List;

/** A lease that a user got, and what was seen of it. */
final class Held {

    /** What its user asks. */
    interface Belief {
        boolean isValid();

        long token(String name);
    }

    private record OfLease(Lease lease) implements Belief {
        @Override
        public boolean isValid() {
            LeaseState state = lease.state();
            return state == LeaseState.SAFE || state == LeaseState.IN_DOUBT;
        }

        @Override
        public long token(String name) {
            return lease.token(name);
        }

        @Override
        public String toString() {
            return lease.toString();
        }
    }

    private final Lease lease;
    private final Belief belief;
    private final SimulatedProcess process;
    private final List<SharedName> names;
    private final int permits;
    private final int limit;
    private boolean wasSeenValid;
    private boolean wasSeenLost;
    private boolean wasReleased;
    private int reportedLosses;

    /** A lease. */
    Held(Lease lease, SimulatedProcess process, List<SharedName> names, int permits, int limit) {
        this(lease, new OfLease(lease), process, names, permits, limit);
        lease.onLost(reason -> reportedLosses++);
    }

    /** What a thread has, without a lease. */
    Held(Belief belief, SimulatedProcess process, List<SharedName> names, int permits, int limit) {
        this(null, belief, process, names, permits, limit);
    }

    private Held(Lease lease, Belief belief, SimulatedProcess process, List<SharedName> names, int permits, int limit) {
        this.lease = lease;
        this.belief = belief;
        this.process = process;
        this.names = names;
        this.permits = permits;
        this.limit = limit;
    }

    long token(SharedName name) {
        return belief.token(name.toString());
    }

    /** Null if a thread has it, without a lease. */
    Lease lease() {
        return lease;
    }

    SimulatedProcess process() {
        return process;
    }

    List<SharedName> names() {
        return names;
    }

    int permits() {
        return permits;
    }

    int limit() {
        return limit;
    }

    boolean isExclusive() {
        return permits == limit;
    }

    boolean wasReleased() {
        return wasReleased;
    }

    void markReleased() {
        wasReleased = true;
    }

    /** Whether this is the first time that it is seen to be valid. */
    boolean isSeenFirst() {
        boolean first = !wasSeenValid;
        wasSeenValid = true;
        return first;
    }

    /** Whether its user may believe that he holds it; a lost one is never held again. */
    boolean isValid() {
        boolean valid = belief.isValid();
        if (valid && wasSeenLost) {
            throw new AssertionError(this + " was lost, and is held again");
        }
        if (valid && wasReleased) {
            throw new AssertionError(this + " was released, and is held");
        }
        if (reportedLosses > 1) {
            throw new AssertionError(this + " was reported as lost " + reportedLosses + " times");
        }
        if (valid && reportedLosses > 0) {
            throw new AssertionError(this + " was reported as lost, and is held");
        }
        wasSeenLost |= !valid;
        return valid;
    }

    @Override
    public String toString() {
        return permits + "/" + limit + " " + belief + " of " + process;
    }
}
