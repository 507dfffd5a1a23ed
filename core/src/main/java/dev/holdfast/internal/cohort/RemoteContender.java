package dev.holdfast.internal.cohort;

import dev.holdfast.internal.Engine;
import dev.holdfast.internal.hold.Grant;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.hold.Validity;
import dev.holdfast.internal.time.Backoff;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.internal.time.Renewable;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * The claim with which this JVM asks the store for a name, on behalf of the local queue, or of one waiter. How it is asked
 * is its {@link Mode}.
 *
 * <h2>States</h2>
 *
 * <pre>
 *   READY ---- send ----> SENT ---- queued ----> WAITING ---- granted with little time left ----> CONFIRMING
 *     ^                    |  \                     |  \                                              |
 *     |---- busy, failed --+   \---- granted -------|---\---------> OVER (admitted) <---- held -------+
 *     |---- ticket gone ----------------------------+                                                 |
 *     |---- grant gone -------------------------------------------------------------------------------+
 *   any --- cancelled, refused, busy in mode ONCE ---> OVER
 * </pre>
 *
 * <p>Invariants: OVER is final, and what arrives after it, or for an earlier claim, is dropped; whoever ends a contender that
 * may have left something in the store releases its claim, so that a late grant is undone by the store itself (law 4). After
 * an UNKNOWN outcome the same claim is sent again, marked as repeated (law 2). Guarded by the mutex of the lock.
 */
final class RemoteContender extends Renewable {

    /** A waiter asks when the holder's time is over plus this for each waiter before it, so that an expiry starts no herd. */
    static final long STAGGER_NANOS = 50_000_000;

    /** The waits between attempts of a spinning contender. */
    static final Backoff SPIN = new Backoff(2_000_000, 100_000_000);

    /** So often a grant that has little time left is renewed before it is handed out; after that the store is just slow. */
    static final int MOST_CONFIRMATIONS = 3;

    /** Rounding and scheduling at the store's side: ask so much after a lease is over, not before. */
    private static final long AFTER_EXPIRY_NANOS = 1_000_000;

    /**
     * What a store has registered, which may be closed before the store returns it. Without the mutex, because keeping it is
     * all that is left to do after a grant.
     */
    private static class Registration {

        private static final AtomicReferenceFieldUpdater<Registration, ListenerRegistration> KEPT =
                AtomicReferenceFieldUpdater.newUpdater(Registration.class, ListenerRegistration.class, "kept");

        private static final ListenerRegistration CLOSED = () -> {};

        private volatile ListenerRegistration kept = ListenerRegistration.NONE;

        boolean isKept() {
            return kept != ListenerRegistration.NONE;
        }

        void keep(ListenerRegistration registered) {
            if (!KEPT.compareAndSet(this, ListenerRegistration.NONE, registered)) {
                registered.close();
            }
        }

        void close() {
            KEPT.getAndSet(this, CLOSED).close();
        }
    }

    private enum State {
        READY,
        SENT,
        WAITING,
        CONFIRMING,
        OVER
    }

    private final CohortLock lock;
    private final Engine engine;
    private final LockSpec spec;
    private final @Nullable Waiter only;
    private final Mode mode;

    private State state = State.READY;
    private Claim claim;
    private boolean everSent;
    /** Whether it ended because nobody waits for it any more. */
    private boolean cancelled;
    /** Whether the last request was answered in a way that leaves nothing in the store. */
    private boolean leftNothing;

    private long notBefore;
    /**
     * From when a pushed or polled grant counts, since the claim cannot have been granted before: the sending of the first request
     * that may have reached the store, or of the last one that was answered "still waiting". The latter says nothing of a repeated
     * claim: it may have been granted, and that grant have ended, before it was queued again, and the news of that grant may be
     * late.
     */
    private long waitingSince;
    /** When the grant that is being confirmed arrived. */
    private long confirmingSince;

    private int tries;
    private int confirmations;
    private final StoreOutage outage = new StoreOutage();
    /** Since when all that the store grants comes too late. */
    private long slowSince = Nanos.NEVER;
    /** Whether the name may have become free since the request was sent. */
    private boolean hintedWhileSent;

    /** The listener of the present claim. */
    private @Nullable Listening listening;
    /** The registration for hints, of a spinning contender. */
    private final @Nullable Registration hints;

    /** For the local queue. */
    RemoteContender(CohortLock lock, LockSpec spec, Mode mode) {
        this(lock, spec, null, mode);
    }

    /** For one waiter. */
    RemoteContender(CohortLock lock, Waiter only) {
        this(lock, only.spec(), only, only.isOnce() ? Mode.ONCE : modeOfFair(lock));
    }

    // Users cannot ask for a fair lock where there is no queue. A candidate has a claim of its own there, too.
    private static Mode modeOfFair(CohortLock lock) {
        return lock.engine().traits().fifo() ? Mode.QUEUE : Mode.SPIN;
    }

    private RemoteContender(CohortLock lock, LockSpec spec, @Nullable Waiter only, Mode mode) {
        this.lock = lock;
        this.engine = lock.engine();
        this.spec = spec;
        this.only = only;
        this.mode = mode;
        this.hints = mode == Mode.SPIN ? new Registration() : null;
        this.claim = newClaim();
    }

    private Claim newClaim() {
        Waiter first = only != null ? only : lock.queue().head();
        return first == null
                ? engine.newClaim(spec, null, List.of())
                : engine.newClaim(spec, first.thread(), first.held());
    }

    LockSpec spec() {
        return spec;
    }

    Mode mode() {
        return mode;
    }

    @Nullable
    Waiter only() {
        return only;
    }

    Claim claim() {
        return claim;
    }

    /** Whether somebody should {@link #send} it now. */
    boolean isDue(long now) {
        return state == State.READY && now >= notBefore;
    }

    /** When it should be looked at again by whoever drives it; {@link Nanos#NEVER} if it will call. */
    long driveAt() {
        return state == State.READY ? notBefore : Nanos.NEVER;
    }

    /** When somebody who bears with a failing or silent store for so long must give up. */
    long outageEnds(long storeTimeout) {
        return outage.ends(storeTimeout);
    }

    /** The last failure of the store; null if it is well, or just silent. */
    @Nullable
    StoreException outage() {
        return outage.cause();
    }

    // ---- sending ----

    /** Under the mutex: claims the right to send. */
    void beginSend(long now) {
        state = State.SENT;
        if (!claim.repeated()) {
            waitingSince = now;
        }
        everSent = true;
        leftNothing = false;
        hintedWhileSent = false;
        outage.asked(now);
        listening = new Listening(claim, now);
        engine.locks().expect(this);
    }

    /** Without the mutex, after {@link #beginSend}. May block, as the store does. */
    void send() {
        Listening mine = listening;
        if (mine == null) {
            return;
        }
        try {
            if (mode == Mode.QUEUE) {
                mine.keep(engine.store().enqueue(mine.asked, mine));
            } else {
                askForHints();
                engine.store().tryAcquire(mine.asked).whenComplete((attempt, failure) -> {
                    if (failure != null) {
                        mine.failed(StoreException.of(failure));
                    } else if (attempt instanceof Granted granted) {
                        mine.granted(granted);
                    } else {
                        mine.busy();
                    }
                });
            }
        } catch (Throwable failure) {
            // Also an Error: left in SENT, the contender would keep all others waiting.
            mine.failed(StoreException.of(failure));
        }
    }

    // Only from the second attempt on: most attempts of a spinning lock succeed at once.
    private void askForHints() {
        if (hints != null && tries > 0 && !hints.isKept()) {
            try {
                hints.keep(engine.store().watch(spec.name(), () -> lock.change(this::hinted)));
            } catch (RuntimeException noHints) {
                // They only shorten a pause. The next attempt asks for them again.
            }
        }
    }

    /** Under the mutex: the name may have become free. */
    void hinted() {
        if (mode != Mode.SPIN) {
            return;
        }
        if (state == State.READY) {
            notBefore = Math.min(notBefore, engine.now());
            lock.queue().wakeDriver(this);
        } else if (state == State.SENT) {
            hintedWhileSent = true;
        }
    }

    /**
     * Under the mutex: ends it.
     *
     * @return the release of what it may have left in the store; null if there is nothing
     */
    @Nullable
    CompletableFuture<@Nullable Released> cancel() {
        boolean mayHaveLeftSomething = everSent && state != State.OVER && (!leftNothing || claim.repeated());
        Claim left = claim;
        cancelled = true;
        over();
        if (!mayHaveLeftSomething) {
            return null;
        }
        // Until the claim is out of the store, a release of this client's may still be answered with its grant.
        engine.locks().expect(this);
        CompletableFuture<@Nullable Released> leaving = engine.releases().sendLater(left);
        leaving.whenComplete((released, never) -> {
            engine.locks().forget(this, left);
            lock.released();
        });
        return leaving;
    }

    private void over() {
        state = State.OVER;
        leave();
        if (hints != null) {
            hints.close();
        }
    }

    private void leave() {
        engine.locks().forget(this, claim);
        engine.renewals().remove(this);
        if (listening != null) {
            listening.close();
            listening = null;
        }
    }

    // ---- what the store says ----

    /** Listens to what becomes of one claim. What comes after the contender has gone on to another one is dropped. */
    private final class Listening extends Registration implements ClaimListener {

        private final Claim asked;
        private final long askedAt;

        private Listening(Claim asked, long askedAt) {
            this.asked = asked;
            this.askedAt = askedAt;
        }

        private void on(State expected, State orExpected, Runnable change) {
            lock.change(() -> {
                if (asked.id().equals(claim.id()) && (state == expected || state == orExpected)) {
                    change.run();
                }
            });
        }

        @Override
        public void waiting(int position, Duration retryAfter) {
            on(State.SENT, State.SENT, () -> {
                state = State.WAITING;
                waitsAt(askedAt);
                well();
                scheduleRefresh(position, retryAfter);
            });
        }

        @Override
        public void granted(Granted granted) {
            on(State.SENT, State.WAITING, () -> arrive(granted, waitingSince));
        }

        @Override
        public void ended(Renewed.Reason reason) {
            on(State.SENT, State.WAITING, () -> beginAnew(0));
        }

        @Override
        public void failed(StoreException cause) {
            on(State.SENT, State.SENT, () -> sendFailed(cause, askedAt));
        }

        private void busy() {
            on(State.SENT, State.SENT, RemoteContender.this::busy);
        }
    }

    /**
     * A release of this client's, sent at the given time, has granted the claim.
     *
     * @return the claim if nobody waits for it any more, so that it must be released
     */
    @Nullable
    Claim handed(ClaimId id, Granted granted, long since) {
        return lock.locked(() -> {
            if (!id.equals(claim.id())) {
                return null;
            }
            if (state == State.SENT || state == State.WAITING) {
                arrive(granted, Math.max(since, waitingSince));
            }
            return cancelled ? claim : null;
        });
    }

    // A pushed grant may have been on its way for long, and lives as long as a ticket: too short for a fixed lease.
    private void arrive(Granted granted, long since) {
        Validity validity = Validity.of(since, granted.lease());
        answered();
        if (lock.isOutdated(spec, granted.counter())) {
            // The store has given the name to somebody here since: this came late, and is over.
            engine.releases().sendLater(claim.again());
            beginAnew(0);
            return;
        }
        long now = engine.now();
        if (lock.isWorthHaving(spec, validity, now)) {
            over();
            lock.queue().admit(this, new Grant(lock, spec, claim, granted.counter(), validity, now), now);
        } else if (confirmations++ < MOST_CONFIRMATIONS) {
            state = State.CONFIRMING;
            confirmingSince = now;
            engine.renewals().schedule(this, now);
        } else {
            tooSlow();
        }
    }

    // The store answers, but so late that what it grants is half over: no better than an outage.
    private void tooSlow() {
        // A repeated claim may have waited well for long since then.
        slowSince = Math.min(slowSince, claim.repeated() ? confirmingSince : waitingSince);
        engine.releases().sendLater(claim.again());
        if (mode == Mode.ONCE) {
            over();
            lock.queue().busy(this);
            return;
        }
        confirmations = 0;
        String message = "it takes longer to answer than half of the lease of "
                + spec.lease().toMillis() + " ms";
        fail(StoreException.unavailable(Effect.NONE, message, null), slowSince);
        if (state != State.OVER) {
            beginAnew(Engine.RETRY.after(tries++, engine.time()));
        }
    }

    private void busy() {
        outage.over();
        if (mode == Mode.ONCE) {
            over();
            engine.releases().endIfRepeated(claim);
            lock.queue().busy(this);
        } else {
            long pause = hintedWhileSent ? 0 : SPIN.after(tries++, engine.time());
            if (claim.repeated()) {
                // A late copy of it is undone by its release, and the next grant counts from its own request.
                beginAnew(pause);
            } else {
                leftNothing = true;
                again(pause);
            }
        }
    }

    private void sendFailed(StoreException cause, long askedAt) {
        if (cause.effect() == Effect.UNKNOWN) {
            claim = claim.again();
        }
        if (!cause.retryable()) {
            over();
            engine.releases().endIfRepeated(claim);
            lock.queue().refused(this, cause);
            return;
        }
        leftNothing = !claim.repeated();
        long pause = Engine.RETRY.after(tries++, engine.time());
        outage.failed(cause, askedAt);
        // Who does not wait for its turn need not wait for an attempt that would come too late.
        lock.queue().outage(this, cause, mode == Mode.ONCE ? pause : 0);
        // The last waiter may just have given up, and ended this.
        if (state == State.SENT) {
            again(pause);
        }
    }

    private void again(long after) {
        state = State.READY;
        notBefore = engine.now() + after;
        engine.locks().forget(this, claim);
        lock.queue().wakeDriver(this);
    }

    // The old claim is gone from the store, so a new one is made: an id is used for one attempt only. A copy of an
    // earlier request of the old one may still be on its way.
    private void beginAnew(long after) {
        engine.releases().endIfRepeated(claim);
        leave();
        outage.forgetQuestion();
        claim = newClaim();
        everSent = false;
        again(after);
    }

    private void fail(StoreException cause, long since) {
        outage.failed(cause, since);
        lock.queue().outage(this, cause, 0);
    }

    private void well() {
        slowSince = Nanos.NEVER;
        answered();
    }

    // Perhaps too late: what is over then is the silence, but not the slowness.
    private void answered() {
        outage.over();
        tries = 0;
    }

    // ---- refreshing the ticket ----

    private void scheduleRefresh(int position, Duration retryAfter) {
        long refresh = engine.refreshAfter();
        long slack = refresh / Engine.REFRESH_EARLY_PART;
        if (!retryAfter.isZero()) {
            long stagger = Math.min(position, Renewed.Waiting.FAR) * STAGGER_NANOS;
            long expiry = retryAfter.toNanos() + stagger + AFTER_EXPIRY_NANOS;
            if (expiry < refresh) {
                // Not before: a question that comes before the holder's time is over is asked in vain.
                refresh = expiry;
                slack = 0;
            }
        }
        engine.renewals().schedule(this, engine.now() + refresh, slack);
    }

    @Override
    public @Nullable Claim beginRenewal(long now) {
        return lock.locked(() -> {
            if (state != State.WAITING && state != State.CONFIRMING) {
                return null;
            }
            Duration span = mode == Mode.QUEUE ? engine.traits().ticketTtl() : claim.lease();
            long repeat = engine.repeatAfter(span.toNanos());
            engine.renewals().schedule(this, now + repeat);
            outage.asked(now);
            claim = claim.withOwner(lock.queue().ownerOf(this));
            return claim;
        });
    }

    @Override
    public void renewed(Claim asked, Renewed answer, long answeredFrom) {
        lock.change(() -> {
            if (!asked.id().equals(claim.id()) || (state != State.WAITING && state != State.CONFIRMING)) {
                return;
            }
            if (answer instanceof Granted held) {
                arrive(held, answeredFrom);
            } else if (answer instanceof Renewed.Waiting place) {
                stillWaiting(place, answeredFrom);
            } else if (answer instanceof Renewed.Failed failure) {
                refreshFailed(failure.cause());
            } else {
                beginAnew(0);
            }
        });
    }

    private void stillWaiting(Renewed.Waiting place, long answeredFrom) {
        // It was asked before the grant that is being confirmed was known, and says nothing about it.
        if (state == State.CONFIRMING && answeredFrom <= confirmingSince) {
            return;
        }
        well();
        state = State.WAITING;
        waitsAt(answeredFrom);
        scheduleRefresh(place.position(), place.retryAfter());
    }

    private void waitsAt(long askedAt) {
        if (!claim.repeated()) {
            waitingSince = Math.max(waitingSince, askedAt);
        }
    }

    @Override
    public void renewalFailed(Claim asked, StoreException cause) {
        lock.change(() -> {
            if (asked.id().equals(claim.id()) && (state == State.WAITING || state == State.CONFIRMING)) {
                refreshFailed(cause);
            }
        });
    }

    private void refreshFailed(StoreException cause) {
        engine.renewals().schedule(this, engine.now() + Engine.RETRY.after(tries++, engine.time()));
        fail(cause, engine.now());
    }
}
