package dev.holdfast.quorum;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;

/**
 * What this client knows about a claim that a majority has granted: its token, and until when each node surely keeps it.
 * Thread-safe.
 *
 * <p>The vote of a node lasts from its sending for the lease. A renewal prolongs a
 * vote only while it lasts. A node whose vote has ended, or that has never voted, votes anew by an acquisition, whose answer
 * says whether the node may be counted. So a node that has lost its data, or was restored from older data, cannot keep a
 * grant alive.
 */
final class Holding {

    /** The margin for the drift of clocks is this part of a lease, and a constant for scheduling and rounding. */
    private static final int DRIFT_PART = 100;

    private static final long MARGIN_NANOS = 2_000_000;

    private final long token;
    /** Until when the node keeps the claim, and a renewal proves that it has kept it all the time. */
    private final long[] liveUntil;

    private final boolean[] live;
    private final boolean[] unsure;
    private boolean closed;

    Holding(long token, int nodes) {
        this.token = token;
        this.liveUntil = new long[nodes];
        this.live = new boolean[nodes];
        this.unsure = new boolean[nodes];
    }

    long token() {
        return token;
    }

    /**
     * Notes the vote of a node.
     *
     * @param sent when the request was sent
     * @return false if the claim has been released meanwhile
     */
    synchronized boolean vote(int node, long sent, Granted granted) {
        long until = sent + granted.lease().toNanos();
        if (!live[node] || until - liveUntil[node] > 0) {
            liveUntil[node] = until;
        }
        live[node] = true;
        return !closed;
    }

    /** Notes that a node does not keep the claim. */
    synchronized void gone(int node) {
        live[node] = false;
    }

    /** Notes that a request to a node ended without an answer, so that it may still arrive there. */
    synchronized void unsure(int node) {
        unsure[node] = true;
    }

    /** The claim as it must be released at a node: a request that may arrive later must be refused. */
    synchronized Claim toRelease(int node, Claim claim) {
        return unsure[node] ? claim.again() : claim;
    }

    /** Whether the node has voted, and has not said since that it does not keep the claim. */
    synchronized boolean hasVoted(int node) {
        return live[node];
    }

    /** Whether a renewal that is sent now proves that the node has kept its vote. */
    synchronized boolean isLive(int node, long now) {
        return live[node] && liveUntil[node] - now > 0;
    }

    /** Whether so many nodes keep the claim, as far as their answers say. The engine counts the margin. */
    synchronized boolean isHeld(int majority, long now) {
        int held = 0;
        for (int i = 0; i < live.length; i++) {
            held += live[i] && liveUntil[i] - now > 0 ? 1 : 0;
        }
        return held >= majority;
    }

    /** The margin of a time for the drift of clocks. */
    static long margin(long nanos) {
        return nanos / DRIFT_PART + MARGIN_NANOS;
    }

    /** Notes that the claim is being released, and that no node should keep it any more. */
    synchronized void close() {
        closed = true;
    }

    synchronized boolean isClosed() {
        return closed;
    }
}
