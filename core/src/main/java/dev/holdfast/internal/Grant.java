package dev.holdfast.internal;

import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * A grant that the store gave to this JVM, and the holds that share it: one at a time if it is exclusive, several readers
 * at once if it is a read grant.
 *
 * <p>Guarded by the resource's mutex, but for {@link #validity} and {@link #isOver}, which may be read by anyone. {@code
 * validity} only ever moves to a later deadline, and not at all once the grant is over: LOST is final.
 */
final class Grant implements Renewable {

    /** A token is {@code counter * TOKENS_PER_GRANT + k}; k counts the local hand-offs of the grant. */
    static final int TOKENS_PER_GRANT = 1024;

    /** After a failed renewal the next one follows after this part of the lease, */
    private static final int RETRY_PART = 20;

    /** but not sooner than this. */
    private static final long RETRY_LEAST_NANOS = 20_000_000;

    /** A renewal may be this part of the lease early to join a batch: more than the jitter, so that batches stay together. */
    private static final int EARLY_PART = 12;

    private final Resource resource;
    private final Engine engine;
    private final long counter;
    private final long grantedAt;
    private final List<Hold> holds = new ArrayList<>(1);
    private Request spec;
    private Claim claim;
    /** The longest lease that the claim was extended with, or was to be. */
    private Duration longestLease = Duration.ZERO;
    /** How many holds there were. */
    private int shares;
    /** The part of the token that counts local hand-offs; stays when a write grant becomes a read grant. */
    private int k;

    private long heldSince;
    private boolean storeFailed;
    /** Whether a renewal was sent and not answered yet; one that is sent again then says that the store is out of reach. */
    private boolean unanswered;

    private volatile Validity validity;
    private volatile boolean over;
    private volatile long renewAt;
    private volatile long eventAt = Long.MAX_VALUE;

    Grant(Resource resource, Request spec, Claim claim, long counter, Validity validity, long now) {
        this.resource = resource;
        this.engine = resource.engine();
        this.spec = spec;
        this.claim = claim;
        this.counter = counter;
        this.validity = validity;
        this.grantedAt = now;
        this.heldSince = now;
        this.renewAt = spec.autoRenew() ? jittered(validity) : Long.MAX_VALUE;
    }

    Resource resource() {
        return resource;
    }

    Request spec() {
        return spec;
    }

    Claim claim() {
        return claim;
    }

    /**
     * The claim as it must be released: with the longest lease that it was asked to last for, since for so long the
     * release is repeated, and remembered.
     */
    Claim claimToRelease() {
        return longestLease.compareTo(claim.lease()) > 0 ? claim.withLease(longestLease) : claim;
    }

    /** The claim with another lease, to be sent without the mutex. */
    Claim claimFor(Duration lease) {
        resource.mutex().lock();
        try {
            // Also if it will fail: nobody may know whether it did.
            longestLease = longestLease.compareTo(lease) > 0 ? longestLease : lease;
            return claim.withLease(lease);
        } finally {
            resource.mutex().unlock();
        }
    }

    long counter() {
        return counter;
    }

    Validity validity() {
        return validity;
    }

    List<Hold> holds() {
        return holds;
    }

    /** Whether it was lost or released. */
    boolean isOver() {
        return over;
    }

    void end() {
        over = true;
        renewAt = Long.MAX_VALUE;
    }

    boolean isExclusive() {
        return spec.isExclusive();
    }

    boolean isInDoubt(long now) {
        return spec.autoRenew() && now > validity.doubtBegins();
    }

    /** How often it was passed on without a trip. */
    int handOffs() {
        return Math.max(0, shares - 1);
    }

    /** When the present holder took it. */
    long heldSince() {
        return heldSince;
    }

    /** Gives a share to a new holder. */
    Hold share(Request request, @Nullable Thread thread, long now) {
        k = isExclusive() ? shares : k;
        shares++;
        heldSince = now;
        Hold hold = new Hold(this, request, counter * TOKENS_PER_GRANT + k, now, thread);
        holds.add(hold);
        if (hold.holdEnds() < eventAt) {
            scheduleEvent(now);
        }
        return hold;
    }

    /** Whether it may be passed to, or joined by, another local thread: fresh, and within the bounds counted from the grant. */
    boolean mayBeShared(long now) {
        return !over
                && !spec.fair()
                && shares <= engine.handOffsMax()
                && now - grantedAt < engine.handOffNanos()
                && validity.isFresh(now);
    }

    /** Whether its first holder may take it: nobody had it yet, and enough of the lease is left to be worth it. */
    boolean isUntouched(long now) {
        return !over && shares == 0 && validity.hasHalfLeft(now);
    }

    /**
     * From now on this is a read grant with the same token, here at once and in the store as soon as the smaller claim
     * gets there. That claim is an acquire of the same id, and a copy of it may come late: hence the mark.
     */
    void shrinkTo(Request read) {
        claim = claim.withPermits(read.permits()).again();
        spec = read;
        // Those who join later lie between the writer, who keeps his token, and the next exclusive grant.
        k = shares;
    }

    /** Stops the renewal: a fixed lease of a multi-lock begins when all members are held. */
    void fix(Request fixed) {
        spec = fixed;
        renewAt = fixed.autoRenew() ? jittered(validity) : Long.MAX_VALUE;
    }

    /** A later deadline, unless the answer came too late. Returns false if the grant is, or now must be taken for, lost. */
    boolean prolong(Validity later, long now) {
        if (over || now >= validity.deadline()) {
            return false;
        }
        storeFailed = false;
        unanswered = false;
        if (later.deadline() > validity.deadline()) {
            validity = later;
            // Else the timer would look at each of many grants once in vain, and for each at all of them.
            scheduleEvent(now);
        }
        // Counted from this answer, even if an earlier extension lasts longer: a third of that extension may be over
        // already, and then the next renewal would follow at once.
        renewAt = spec.autoRenew() ? jittered(later) : Long.MAX_VALUE;
        return true;
    }

    /** When the timer must look at it: doubt, the end of the lease, or the end of a hold's maxHold. Read without a lock. */
    long eventAt() {
        return eventAt;
    }

    /** Computes {@link #eventAt} anew. */
    void scheduleEvent(long now) {
        Validity valid = validity;
        long next = valid.deadline();
        if (spec.autoRenew() && now <= valid.doubtBegins()) {
            next = Math.min(next, valid.doubtBegins() + 1);
        }
        for (Hold hold : holds) {
            next = Math.min(next, hold.holdEnds());
        }
        eventAt = next;
        engine.timer().wakeBy(next);
    }

    /** Why it is lost if its deadline has passed. */
    LossReason expiryReason() {
        return storeFailed ? LossReason.STORE_UNREACHABLE : LossReason.EXPIRED;
    }

    @Override
    public long renewAt() {
        return renewAt;
    }

    @Override
    public long renewFrom() {
        long at = renewAt;
        return at == Long.MAX_VALUE ? at : at - validity.span() / EARLY_PART;
    }

    @Override
    public @Nullable Claim beginRenewal(long sentAt, HeldNames held) {
        resource.mutex().lock();
        try {
            if (over || renewAt == Long.MAX_VALUE) {
                return null;
            }
            // Not again before the answer, unless there is none within the time that the store promises.
            storeFailed |= unanswered;
            unanswered = true;
            renewAt = sentAt + engine.repeatAfter(validity.span());
            return claim;
        } finally {
            resource.mutex().unlock();
        }
    }

    @Override
    public void renewed(Claim asked, Renewed answer, long sentAt) {
        if (answer instanceof Renewed.Failed failed) {
            renewalFailed(asked, failed.cause());
        } else if (answer instanceof Granted held) {
            resource.grantRenewed(this, held.counter(), Validity.of(sentAt, held.lease()));
        } else if (answer instanceof Renewed.Gone gone) {
            resource.lost(this, reasonOf(gone.reason()));
        } else {
            // A store that lets a holder wait again has lost the grant.
            resource.lostToAnother(this);
        }
    }

    @Override
    public void renewalFailed(Claim asked, StoreException cause) {
        resource.mutex().lock();
        try {
            storeFailed = true;
            unanswered = false;
            if (!over && spec.autoRenew()) {
                renewAt = engine.now() + Math.max(RETRY_LEAST_NANOS, validity.span() / RETRY_PART);
                engine.renewals().wakeBy(renewAt);
            }
        } finally {
            resource.mutex().unlock();
        }
    }

    private static LossReason reasonOf(Renewed.Reason reason) {
        return switch (reason) {
            case EXPIRED -> LossReason.EXPIRED;
            case TAKEN -> LossReason.TAKEN;
            case RELEASED -> LossReason.BROKEN;
        };
    }

    // Up to a tenth earlier, so that clients that began together do not renew together for ever.
    private static long jittered(Validity validity) {
        long third = validity.renewalDue() - validity.start();
        return validity.renewalDue() - ThreadLocalRandom.current().nextLong(third / 10 + 1);
    }
}
