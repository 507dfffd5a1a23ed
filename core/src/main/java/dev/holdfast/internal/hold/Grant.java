package dev.holdfast.internal.hold;

import dev.holdfast.LossReason;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.calls.ReleaseRetrier;
import dev.holdfast.internal.calls.RepeatedCall;
import dev.holdfast.internal.time.Alarm;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.internal.time.Renewable;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A grant that the store gave to this JVM, and the holds that share it: one at a time if it is exclusive, several readers at
 * once if it is a read grant.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>A grant is live, then over: released, or lost. Over is final. What ends it:
 *
 * <pre>
 *   renewed       the store says that it is gone, or is another one        lost (EXPIRED, TAKEN, BROKEN)
 *   gone          the store says so without being asked                    lost (EXPIRED, TAKEN, BROKEN)
 *   examine       its time is over, by the local clock                     lost (EXPIRED, STORE_UNREACHABLE)
 *   lose          another grant of the name shows that it cannot hold      lost (TAKEN, BROKEN), or a close (CLOSED)
 *   leave         its last hold has ended, and nobody here takes it over   to be released
 *   leaveToExpire its last hold has ended, and the lease is to run out     released when it has
 * </pre>
 *
 * <p>A renewal that fails does not end it: it is repeated, and remembered as the reason for the loss that {@link #examine}
 * may declare.
 *
 * <p>Guarded by the mutex of its home, but for {@link #validity} and {@link #over}, which anyone may read. {@code validity}
 * only ever moves to a later deadline, and not at all once the grant is over.
 */
public final class Grant extends Renewable {

    /** After a failed renewal the next one follows after this part of the lease. */
    private static final int RETRY_PART = 20;

    /** After a failed renewal the next one follows no sooner than this. */
    private static final long RETRY_LEAST_NANOS = 20_000_000;

    /** A renewal may be this part of the lease early to join a batch: more than the jitter, so that batches stay together. */
    private static final int EARLY_PART = 12;

    private final GrantHome home;
    private final Engine engine;
    private final long counter;
    private final long grantedAt;
    private final List<Hold> holds = new ArrayList<>(1);
    private final Alarm examination = new Alarm(this::examine);
    private LockSpec spec;
    private Claim claim;
    /** The longest lease that the claim was extended with, or was to be. */
    private Duration longestLease = Duration.ZERO;
    /** How many holds there were. */
    private int shares;
    /** The part of the token that counts local hand-offs; stays when a write grant becomes a read grant. */
    private int k;

    private long heldSince;
    /** Whether a renewal failed, or was not answered in time, since the last one that was answered. */
    private boolean renewalFailed;
    /** When the renewal was sent that is not answered yet. */
    private long unansweredSince = Nanos.NEVER;
    /** Whether the listeners were notified of the present doubt. */
    private boolean doubted;

    private volatile Validity validity;
    private volatile boolean over;

    public Grant(GrantHome home, LockSpec spec, Claim claim, long counter, Validity validity, long now) {
        this.home = home;
        this.engine = home.engine();
        this.spec = spec;
        this.claim = claim;
        this.counter = counter;
        this.validity = validity;
        this.grantedAt = now;
        this.heldSince = now;
    }

    public GrantHome home() {
        return home;
    }

    public LockSpec spec() {
        return spec;
    }

    public Claim claim() {
        return claim;
    }

    /**
     * The claim as it must be released: with the longest lease that it was asked to last for, since for so long the release
     * is repeated, and remembered.
     */
    public Claim claimToRelease() {
        return longestLease.compareTo(claim.lease()) > 0 ? claim.withLease(longestLease) : claim;
    }

    /** Without the mutex: the claim with another lease, to be sent now. */
    public Claim claimFor(Duration lease) {
        return home.locked(() -> {
            Duration rounded = engine.roundUp(lease);
            // Also if it will fail: nobody may know whether it did.
            longestLease = longestLease.compareTo(rounded) > 0 ? longestLease : rounded;
            claim = claimOfHolder();
            return claim.withLease(rounded);
        });
    }

    public long counter() {
        return counter;
    }

    public Validity validity() {
        return validity;
    }

    public boolean isExclusive() {
        return spec.isExclusive();
    }

    boolean isInDoubt(long now) {
        return spec.autoRenew() && now > validity.doubtBegins();
    }

    /** Under the mutex: whether the listeners of the present doubt were notified. */
    boolean isDoubtReported() {
        return doubted;
    }

    /** How many share it. */
    public int holders() {
        return holds.size();
    }

    /** When the present holder took it. */
    public long heldSince() {
        return heldSince;
    }

    // ---- its holds ----

    /** It is held from now on, and renewed if that is wanted. */
    public void begin(long now) {
        scheduleExamination(now);
        scheduleRenewal(validity);
    }

    /** Gives a share to a new holder. */
    public Hold share(LockSpec wanted, @Nullable Thread thread, boolean forThread, long now) {
        k = isExclusive() ? shares : k;
        shares++;
        heldSince = now;
        Hold hold = new Hold(this, wanted, counter * Granted.TOKENS_PER_GRANT + k, now, thread, forThread);
        holds.add(hold);
        if (hold.holdEnds() < examination.at()) {
            scheduleExamination(now);
        }
        return hold;
    }

    /**
     * Whether it may be passed to, or joined by, another local thread: fresh, and within the bounds counted from the grant.
     * Not if it was extended: the next one would hold it for a time that nobody has asked for.
     */
    public boolean mayBeShared(long now) {
        return !over
                && !spec.fair()
                && longestLease.compareTo(claim.lease()) <= 0
                && !isAbandoned()
                && shares <= engine.handOffsMax()
                && now - grantedAt < engine.handOffNanos()
                && validity.isFresh(now);
    }

    /** Whether its first holder may take it: nobody had it yet, and enough of the lease is left to be worth it. */
    public boolean isUntouched(long now) {
        return !over && shares == 0 && validity.hasHalfLeft(now);
    }

    /** A hold has ended. Returns whether the caller must now release the grant at the store, without the mutex. */
    boolean leave(Hold hold) {
        holds.remove(hold);
        if (over || !holds.isEmpty() || home.passOn(this)) {
            return false;
        }
        end();
        return true;
    }

    /**
     * A hold has ended, and what the store has of it is to last until the lease is over. It is released then, since some stores
     * have no clock for it. After the close nothing is sent: the server's clock ends what is left.
     */
    void leaveToExpire(Hold hold) {
        holds.remove(hold);
        if (over || !holds.isEmpty()) {
            return;
        }
        end();
        home.wakeNext();
        Claim left = claimToRelease();
        Alarm expiry = new Alarm(() -> {
            if (!engine.isClosed()) {
                engine.releases().cleanUp(left).thenRun(home::released);
            }
        });
        engine.losses().schedule(expiry, validity.start() + validity.span());
    }

    /** It is over, and known to nobody any more. */
    public void end() {
        over = true;
        engine.losses().remove(examination);
        engine.renewals().remove(this);
        home.forget(this);
        int handOffs = shares - 1;
        if (handOffs > 0 && engine.callbacks().isObserved()) {
            home.afterwards(() -> engine.callbacks()
                    .observe(observer -> observer.handedOff(spec.name().value(), handOffs)));
        }
    }

    /**
     * Under the mutex: nobody here wants it, so that it ends and is released. The result completes as {@link
     * ReleaseRetrier#sendLater} says.
     */
    public CompletableFuture<@Nullable Released> giveBack() {
        end();
        CompletableFuture<@Nullable Released> leaving = engine.releases().sendLater(claimToRelease());
        leaving.thenRun(home::released);
        return leaving;
    }

    /** Goes on with other options: the lease of a multi-lock begins when all members are held. */
    void restart(LockSpec fixed, long now) {
        spec = fixed;
        scheduleRenewal(validity);
        scheduleExamination(now);
    }

    // ---- renewal ----

    private void scheduleRenewal(Validity counted) {
        if (!spec.autoRenew() || over) {
            engine.renewals().remove(this);
            return;
        }
        // Up to a tenth earlier, so that clients that began together do not renew together for ever.
        long third = counted.renewalDue() - counted.start();
        long at = counted.renewalDue() - engine.time().random(third / 10 + 1);
        engine.renewals().schedule(this, at, validity.span() / EARLY_PART);
    }

    /** Under the mutex: asks the store at once what has become of it. A fixed lease is not prolonged for that. */
    public void renewNow(long now) {
        if (spec.autoRenew() && !over) {
            engine.renewals().schedule(this, now);
        }
    }

    @Override
    public @Nullable Claim beginRenewal(long sentAt) {
        return home.locked(() -> {
            if (over || !spec.autoRenew() || isAbandoned()) {
                return null;
            }
            renewalFailed |= unansweredSince != Nanos.NEVER;
            unansweredSince = Math.min(unansweredSince, sentAt);
            engine.renewals().schedule(this, sentAt + engine.repeatAfter(validity.span()));
            claim = claimOfHolder();
            return claim;
        });
    }

    /** Under the mutex: who holds it now, as people will see it with the next renewal. */
    public OwnerInfo owner() {
        return claimOfHolder().owner();
    }

    // With the owner as he is now: the grant may have passed to another thread, and a candidate may have a new payload.
    private Claim claimOfHolder() {
        if (holds.isEmpty()) {
            return claim;
        }
        Hold holder = holds.get(0);
        return claim.withOwner(engine.owner(holder.spec(), holder.thread(), List.of()));
    }

    // A thread that has died can never unlock. Its lock is renewed no more: others get it when the lease is over.
    private boolean isAbandoned() {
        return !holds.isEmpty() && holds.stream().allMatch(Hold::isOfDeadThread);
    }

    @Override
    public void renewed(Claim asked, Renewed answer, long sentAt) {
        if (answer instanceof Renewed.Failed failed) {
            renewalFailed(asked, failed.cause());
        } else {
            home.change(() -> renewed(answer, sentAt));
        }
    }

    private void renewed(Renewed answer, long sentAt) {
        if (answer instanceof Granted held && held.counter() == counter) {
            Validity later = Validity.of(sentAt, held.lease());
            if (!over && !prolong(later)) {
                lose(expiryReason());
            }
        } else if (answer instanceof Renewed.Gone gone) {
            gone(gone.reason());
        } else {
            // It has another counter, or waits: the store has lost the grant that this was.
            loseToAnother();
        }
    }

    /** Under the mutex: the store says that it is gone, when asked or unasked. */
    public void gone(Renewed.Reason reason) {
        boolean late = engine.now() >= validity.deadline();
        lose(late && reason == Renewed.Reason.EXPIRED ? expiryReason() : reasonOf(reason));
    }

    // False if the answer came too late.
    private boolean prolong(Validity later) {
        long now = engine.now();
        if (now >= validity.deadline()) {
            return false;
        }
        renewalFailed = false;
        unansweredSince = Nanos.NEVER;
        if (later.deadline() > validity.deadline()) {
            validity = later;
            doubted = false;
            scheduleExamination(now);
        }
        // Counted from this answer, even if an earlier extension lasts longer: a third of that extension may be over
        // already, and then the next renewal would follow at once.
        scheduleRenewal(later);
        return true;
    }

    @Override
    public void renewalFailed(Claim asked, StoreException cause) {
        home.change(() -> {
            unansweredSince = Nanos.NEVER;
            if (!over && spec.autoRenew()) {
                renewalFailed = true;
                long pause = Math.max(RETRY_LEAST_NANOS, validity.span() / RETRY_PART);
                engine.renewals().schedule(this, engine.now() + pause);
            }
        });
    }

    // ---- loss ----

    private void scheduleExamination(long now) {
        Validity valid = validity;
        long next = valid.deadline();
        if (spec.autoRenew() && !doubted) {
            next = Math.min(next, valid.doubtBegins() + 1);
        }
        for (Hold hold : holds) {
            next = Math.min(next, hold.holdEnds());
        }
        engine.losses().schedule(examination, Math.max(next, now));
    }

    /** Rung when something about it is over: declares losses, and reports doubt. */
    private void examine() {
        home.change(() -> {
            long now = engine.now();
            if (over) {
                return;
            }
            if (now >= validity.deadline()) {
                lose(expiryReason());
                return;
            }
            if (isInDoubt(now) && !doubted) {
                doubted = true;
                holds.forEach(hold -> hold.reportDoubt(now));
                if (holds.stream().anyMatch(Hold::isObserved)) {
                    Duration left = Duration.ofNanos(validity.deadline() - now);
                    home.afterwards(() -> engine.callbacks()
                            .observe(
                                    observer -> observer.renewalLate(spec.name().value(), left)));
                }
            }
            endHoldsThatAreOver(now);
            if (holds.isEmpty() && !home.isIdle(this)) {
                giveBack();
            } else {
                scheduleExamination(now);
            }
        });
    }

    private void endHoldsThatAreOver(long now) {
        for (Hold hold : List.copyOf(holds)) {
            if (now >= hold.holdEnds()) {
                hold.lose(LossReason.EXPIRED);
                holds.remove(hold);
            }
        }
    }

    // A renewal that was sent when there was plenty of time, and is not answered at the end, is the store's failure;
    // one that was sent late, after a pause of this process, is not.
    private LossReason expiryReason() {
        boolean hangs = unansweredSince <= validity.doubtBegins();
        return renewalFailed || hangs ? LossReason.STORE_UNREACHABLE : LossReason.EXPIRED;
    }

    private static LossReason reasonOf(Renewed.Reason reason) {
        return switch (reason) {
            case EXPIRED -> LossReason.EXPIRED;
            case TAKEN -> LossReason.TAKEN;
            case RELEASED -> LossReason.BROKEN;
        };
    }

    /** All its holds are lost. What may be left of it in the store is released. */
    public void lose(LossReason reason) {
        if (over) {
            return;
        }
        end();
        List.copyOf(holds).forEach(hold -> hold.lose(reason));
        if (reason != LossReason.TAKEN && reason != LossReason.BROKEN) {
            engine.releases().cleanUp(claimToRelease()).thenRun(home::released);
        }
        home.wakeNext();
    }

    /** The store has another grant in its place, perhaps under the same claim. */
    public void loseToAnother() {
        if (!over) {
            lose(LossReason.TAKEN);
            engine.releases().cleanUp(claimToRelease());
        }
    }

    // The store has it no more. An earlier request for it may still come late.
    private void loseInStore() {
        if (!over) {
            lose(reasonOfEarlyEnd());
            engine.releases().cleanUp(claimToRelease());
        }
    }

    /** A newer grant of the name has come to this client, beside which the store cannot have this one. */
    public void loseToNewer() {
        lose(reasonOfEarlyEnd());
    }

    // The store has ended it while it should have lasted: somebody has told it to, or it has lost its data.
    private LossReason reasonOfEarlyEnd() {
        return engine.now() >= validity.deadline() ? expiryReason() : LossReason.BROKEN;
    }

    /** A hold whose time has passed without the examination's notice is declared lost. */
    public void noticeLoss(Hold hold) {
        long now = engine.now();
        if (now >= validity.deadline()) {
            lose(expiryReason());
        } else if (now >= hold.holdEnds()) {
            hold.lose(LossReason.EXPIRED);
        }
    }

    // ---- downgrade ----

    /**
     * From now on this is a read grant with the same token, here at once, so that nobody takes it for a write grant, and in
     * the store as soon as {@link #sendShrunk} gets there. The smaller claim is an acquire of the same id, and a copy of it
     * may come late: hence the mark.
     */
    public void shrinkTo(LockSpec read) {
        claim = claim.withPermits(read.permits()).again();
        spec = read;
        // Those who join later lie between the writer, who keeps his token, and the next exclusive grant.
        k = shares;
        home.wakeNext();
    }

    /** Without the mutex: sends the smaller claim until it is known to have worked; meanwhile it shuts out more than it must. */
    public void sendShrunk() {
        new RepeatedCall<Attempt>(engine.retries(), Nanos.NEVER) {

            @Override
            protected CompletionStage<Attempt> send() {
                return over
                        ? CompletableFuture.failedStage(StoreException.refused("The grant has ended", null))
                        : engine.store().tryAcquire(claim);
            }

            @Override
            protected void answered(Attempt attempt) {
                if (!(attempt instanceof Granted granted)) {
                    home.change(Grant.this::loseInStore);
                } else if (over) {
                    // Perhaps it was granted anew, after its release.
                    engine.releases().sendLater(claimToRelease());
                } else if (granted.counter() != counter) {
                    home.change(Grant.this::loseToAnother);
                }
            }

            @Override
            protected void failed(StoreException refused) {
                // The write claim stays in the store until it is released.
            }
        }.start();
    }
}
