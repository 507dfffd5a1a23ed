package dev.holdfast.quorum;

import dev.holdfast.spi.Claim;
import dev.holdfast.store.OptionTimes;
import java.time.Duration;

/**
 * The options of a quorum. All clients of the same nodes must have the same {@code maxLease}.
 *
 * @param maxLease the longest lease that a claim may have; 5 s to 24 h. A node that may have lost data is not counted for
 *     this time, so a short one lets a node return soon
 * @param nodeTimeout how long a node is waited for; 10 ms to 10 s, and at most a tenth of {@code maxLease}. Claims with leases
 *     that are shorter than this wait for as long as the lease lasts, and their renewals for half as long
 * @param newNodes whether the nodes count at once although they have just begun to keep data. It is for the first start of
 *     new nodes, and for tests; with nodes that have been used before, two could hold one lock
 */
public record QuorumOptions(Duration maxLease, Duration nodeTimeout, boolean newNodes) {

    private static final Duration SHORTEST_MAX_LEASE = Duration.ofSeconds(5);

    /** The margin for the drift of clocks is this part of a lease, and a constant for scheduling and rounding. */
    static final int DRIFT_PART = 100;

    private static final Duration MARGIN = Duration.ofMillis(2);

    /**
     * The longest lease is at least so many time limits of a node. An acquisition may take two of them before it holds, and so may a
     * renewal, which begins when a third of the lease has passed: so half of the lease is left even then, enough for the renewal to
     * be repeated.
     */
    private static final int TIMES = 10;

    public static final QuorumOptions DEFAULTS =
            new QuorumOptions(Duration.ofMinutes(1), Duration.ofMillis(500), false);

    /** @throws IllegalArgumentException if a time is out of its range, or a node is waited for too long in relation to the leases */
    public QuorumOptions {
        OptionTimes.check("maxLease", maxLease, SHORTEST_MAX_LEASE, Claim.MAX_LEASE);
        OptionTimes.check("nodeTimeout", nodeTimeout, Duration.ofMillis(10), Duration.ofSeconds(10));
        Duration most = maxLease.dividedBy(TIMES);
        if (nodeTimeout.compareTo(most) > 0) {
            throw new IllegalArgumentException("Option nodeTimeout was " + nodeTimeout + ", and maxLease was "
                    + maxLease
                    + ": a node may be waited for a tenth of the longest lease, so that a slow one does not use up the"
                    + " lease. Set nodeTimeout to " + most.toMillis() + " ms or less, or maxLease, in all clients, to "
                    + nodeTimeout.multipliedBy(TIMES) + " or more");
        }
    }

    /** For how long a node must have kept its data to be counted: the longest lease and a margin for the drift of clocks. */
    Duration quarantine() {
        return maxLease.plus(maxLease.dividedBy(DRIFT_PART)).plus(MARGIN);
    }
}
