package dev.holdfast.quorum;

import dev.holdfast.spi.Granted;

/** What a client knows about one claim at one node. Guarded by the claim's {@link Ballot}. */
final class NodeView {

    /** Acquisitions that were sent and have neither been answered nor failed. */
    int open;
    /** Whether one of them is overdue. */
    boolean slow;
    /** Whether one has ended without an answer, so that it may still arrive. */
    boolean unsure;
    /** Whether the node keeps the claim, counted or not, as far as its answers say. */
    boolean granted;
    /** How many permits it has granted by its last answer. */
    int permits;
    /** How often the node has granted. An answer "no" to a call during which it has granted may be older than the grant. */
    int grants;
    /** Releases that the node has not confirmed. */
    int releases;
    /** Whether one of them is owed to the node. */
    boolean owed;

    /** Whether the node has voted, and has not said since that it does not keep the claim. */
    private boolean voted;

    private long counter;
    /** When the request of the vote was sent, and how long the vote lasts from then on. */
    private long since;

    private long lease;
    private boolean barred;
    /** Whether the node has said so because somebody has released the claim. */
    private boolean broken;

    /** Notes a vote, which lasts from the sending of its request for the lease. */
    void vote(long sent, Granted grant) {
        long granted = grant.lease().toNanos();
        if (!voted || granted > lastsAfter(sent)) {
            since = sent;
            lease = granted;
        }
        voted = true;
        broken = false;
        counter = Math.max(counter, grant.counter());
    }

    /** The node does not keep the claim. If its vote lasts, it is not asked for another one before that would have ended. */
    void isGone(long now, boolean wasReleased) {
        granted = false;
        broken |= wasReleased;
        barred |= isLive(now);
        voted = false;
    }

    /**
     * Whether a grant that was asked for while the vote lasted is another one: that has a larger counter.
     *
     * @param raisedTo the counter that the node may have been asked to raise the vote's to
     */
    boolean isAnother(Granted grant, long raisedTo) {
        return grant.counter() > Math.max(counter, raisedTo);
    }

    boolean isLive(long now) {
        return voted && isInTime(now);
    }

    // By the local clock alone. A caller who counts how long his claim is valid has the margin for drift (law 5).
    private boolean isInTime(long now) {
        return lease - (now - since) > 0;
    }

    /** Whether the vote lasts, also if the node's clock runs faster than this one by the margin. */
    boolean surelyLasts(long now) {
        return voted && lastsAfter(now) > 0;
    }

    /** How long the vote lasts after this time, also if the node's clock runs faster than this one by the margin. */
    long lastsAfter(long time) {
        long passed = time - since;
        return lease - passed - Math.max(passed, 0) / QuorumOptions.DRIFT_PART;
    }

    /** Whether the vote lasts, or would if the node had not ended it. */
    boolean wouldLast(long now) {
        return (voted || barred) && isInTime(now);
    }

    boolean isBarred(long now) {
        barred &= isInTime(now);
        return barred;
    }

    boolean isBroken(long now) {
        return broken && isBarred(now);
    }

    boolean mayKeep() {
        return granted || unsure || open > 0 || releases > 0;
    }

    /** Whether the answer shows what there is to release, so that nothing need be sent before. */
    boolean isWorthWaitingFor() {
        return open > 0 && !slow && !granted && !unsure;
    }

    /**
     * Whether a release must leave a tombstone even if it finds the claim. If the only acquisition is on its way, what a release
     * does anyway is enough: it leaves one if it does not find the claim.
     */
    boolean needsTombstone() {
        return unsure || open > 1 || (open > 0 && granted);
    }
}
