package dev.holdfast.internal;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits.Liveness;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The claim with which a resource waits in the store, on behalf of its local queue, or of one fair waiter.
 *
 * <h2>States</h2>
 *
 * <pre>
 *   READY ---- send ----> SENT ---- queued ----> WAITING ---- granted with little time left ----> CONFIRMING
 *     ^                    |  \                     |  \                                              |
 *     |---- busy, failed --+   \---- granted -------|---\---------> OVER (admitted) <---- held -------+
 *     |---- ticket gone ----------------------------+                                                 |
 *     |---- grant gone -------------------------------------------------------------------------------+
 *   any --- cancelled, refused ---> OVER
 * </pre>
 *
 * <p>Invariants: OVER is final, and what arrives after it, or for an earlier claim, is dropped; whoever ends a contender that may have left
 * something in the store releases its claim, so that a late grant is undone by the store itself (law 4). After an UNKNOWN
 * outcome the same claim is sent again, marked as repeated (law 2). Guarded by the resource's mutex.
 */
final class Contender implements Renewable {

    /** A waiter asks when the holder's time is over plus this for each waiter before it, so that an expiry starts no herd. */
    static final long STAGGER_NANOS = 50_000_000;

    /** No more than this many waiters are staggered. */
    static final int STAGGER_MOST = 8;

    /** A ticket is refreshed after this part of its time to live. */
    static final int REFRESH_PART = 3;

    /** Waits between attempts of a spinning contender begin with this and double, */
    static final long SPIN_FIRST_NANOS = 2_000_000;

    /** up to this. */
    static final long SPIN_MOST_NANOS = 100_000_000;

    /** Waits between attempts at a failing store begin with this and double, */
    static final long RETRY_FIRST_NANOS = 10_000_000;

    /** up to this. */
    static final long RETRY_MOST_NANOS = 500_000_000;

    /** So often a grant that has little time left is renewed before it is handed out; after that the store is just slow. */
    static final int MOST_CONFIRMATIONS = 3;

    /** Rounding and scheduling at the store's side: ask so much after a lease is over, not before. */
    private static final long AFTER_EXPIRY_NANOS = 1_000_000;

    private static final long NOT_SLOW = -1;

    enum State {
        READY,
        SENT,
        WAITING,
        CONFIRMING,
        OVER
    }

    private final Resource resource;
    private final Engine engine;
    private final Request spec;
    private final @Nullable Waiter only;
    private final boolean queues;

    private State state = State.READY;
    private Claim claim;
    private boolean everSent;
    private long notBefore;
    private long sentAt;
    /** The sending of the last request that was answered "still waiting", or else of the first: a pushed grant counts from it. */
    private long waitingSince;

    private int tries;
    private int confirmations;
    private final Trouble trouble = new Trouble();
    /** Since when all that the store grants comes too late. */
    private long slowSince = NOT_SLOW;

    private ListenerRegistration ticket = ListenerRegistration.NONE;
    private volatile ListenerRegistration hint = ListenerRegistration.NONE;
    private volatile long renewAt = Long.MAX_VALUE;

    Contender(Resource resource, Request spec, @Nullable Waiter only) {
        this.resource = resource;
        this.engine = resource.engine();
        this.spec = spec;
        this.only = only;
        this.queues = engine.traits().fifo() && !spec.spin();
        this.claim = engine.newClaim(spec);
    }

    Request spec() {
        return spec;
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

    /** When it should be looked at again by whoever drives it; {@link Long#MAX_VALUE} if it will call. */
    long driveAt() {
        return state == State.READY ? notBefore : Long.MAX_VALUE;
    }

    /** When somebody who bears with a failing or silent store for so long must give up. */
    long troubleEnds(long storeTimeout) {
        return trouble.ends(storeTimeout);
    }

    /** The last failure of the store; null if it is well, or just silent. */
    @Nullable
    StoreException trouble() {
        return trouble.cause();
    }

    // ---- sending ----

    /** Under the mutex: claims the right to send. */
    void beginSend(long now) {
        state = State.SENT;
        sentAt = now;
        if (!everSent) {
            waitingSince = now;
        }
        everSent = true;
        trouble.asked(now);
        engine.expect(this);
    }

    /** Without the mutex, after {@link #beginSend}. May block, as the store does. */
    void send() {
        Ears ears = new Ears(claim.id());
        try {
            if (queues) {
                keep(engine.store().enqueue(claim, ears), ears);
            } else {
                askForHints();
                engine.store().tryAcquire(claim).whenComplete((attempt, failure) -> {
                    if (failure != null) {
                        ears.failed(StoreException.of(failure));
                    } else if (attempt instanceof Granted granted) {
                        ears.granted(granted);
                    } else {
                        ears.busy();
                    }
                });
            }
        } catch (Throwable failure) {
            // Also an Error: left in SENT, the contender would keep all others waiting.
            ears.failed(StoreException.of(failure));
        }
    }

    // Only from the second attempt on: most attempts of a spinning lock succeed at once.
    private void askForHints() {
        if (tries == 0 || hint != ListenerRegistration.NONE) {
            return;
        }
        ListenerRegistration listening = engine.store().watch(spec.name(), this::hinted);
        resource.mutex().lock();
        try {
            if (state != State.OVER) {
                hint = listening;
                return;
            }
        } finally {
            resource.mutex().unlock();
        }
        listening.close();
    }

    private void hinted() {
        resource.transition(() -> {
            if (state == State.READY) {
                notBefore = engine.now();
                resource.queue().wakeDriver(this);
            }
        });
    }

    private void keep(ListenerRegistration listening, Ears ears) {
        resource.mutex().lock();
        try {
            if (ears.isFor(claim) && (state == State.SENT || state == State.WAITING)) {
                ticket = listening;
                return;
            }
        } finally {
            resource.mutex().unlock();
        }
        listening.close();
    }

    /** Under the mutex: ends it. Returns whether its claim must be released at the store. */
    boolean cancel() {
        boolean mayHaveLeftSomething = everSent && state != State.OVER;
        over();
        return mayHaveLeftSomething;
    }

    private void over() {
        state = State.OVER;
        leave();
        hint.close();
    }

    private void leave() {
        renewAt = Long.MAX_VALUE;
        engine.forget(this);
        engine.renewals().remove(this);
        ticket.close();
        ticket = ListenerRegistration.NONE;
    }

    // ---- what the store says ----

    /** Hears what becomes of one claim. What comes after the contender has gone on to another claim is dropped. */
    private final class Ears implements ClaimListener {

        private final ClaimId id;

        private Ears(ClaimId id) {
            this.id = id;
        }

        boolean isFor(Claim claim) {
            return id.equals(claim.id());
        }

        private void hear(State expected, State orExpected, Runnable change) {
            resource.transition(() -> {
                if (isFor(claim) && (state == expected || state == orExpected)) {
                    change.run();
                }
            });
        }

        @Override
        public void waiting(int position, Duration retryAfter) {
            hear(State.SENT, State.SENT, () -> {
                state = State.WAITING;
                waitingSince = sentAt;
                well();
                scheduleRefresh(position, retryAfter);
                engine.renewals().add(Contender.this);
            });
        }

        @Override
        public void granted(Granted granted) {
            hear(State.SENT, State.WAITING, () -> arrive(granted, waitingSince));
        }

        @Override
        public void ended(Renewed.Reason reason) {
            hear(State.SENT, State.WAITING, () -> beginAnew(0));
        }

        @Override
        public void failed(StoreException cause) {
            hear(State.SENT, State.SENT, () -> sendFailed(cause));
        }

        private void busy() {
            hear(State.SENT, State.SENT, () -> {
                trouble.over();
                again(Backoff.jittered(tries++, SPIN_FIRST_NANOS, SPIN_MOST_NANOS));
            });
        }
    }

    /** A release of this client's, sent at the given time, has granted the claim. */
    void handed(ClaimId id, Granted granted, long since) {
        resource.transition(() -> {
            if (id.equals(claim.id()) && (state == State.SENT || state == State.WAITING)) {
                arrive(granted, Math.max(since, waitingSince));
            }
        });
    }

    // A pushed grant may have been on its way for long, and lives only as long as a ticket: too short for a fixed
    // lease.
    private void arrive(Granted granted, long since) {
        Validity validity = Validity.of(since, granted.lease());
        answered();
        long now = engine.now();
        // A session tells no more than it surely lives, however often it is asked.
        boolean asMuchAsThereIs = spec.autoRenew() || engine.traits().liveness() == Liveness.SESSION;
        long needed = asMuchAsThereIs ? validity.span() : engine.leaseNanos(spec);
        if (validity.deadline() - now >= needed / 2 - Validity.MARGIN_NANOS) {
            over();
            resource.queue().admit(this, new Grant(resource, spec, claim, granted.counter(), validity, now));
        } else if (confirmations++ < MOST_CONFIRMATIONS) {
            state = State.CONFIRMING;
            renewAt = now;
            engine.renewals().add(this);
        } else {
            tooSlow();
        }
    }

    // The store answers, but so late that what it grants is half over: no better than an outage.
    private void tooSlow() {
        slowSince = slowSince == NOT_SLOW ? waitingSince : slowSince;
        engine.releases().sendLater(claim.again());
        confirmations = 0;
        String message = "it takes longer to answer than half of the lease of "
                + spec.lease().toMillis() + " ms";
        fail(StoreException.unavailable(Effect.NONE, message, null), slowSince);
        if (state != State.OVER) {
            beginAnew(Backoff.jittered(tries++, RETRY_FIRST_NANOS, RETRY_MOST_NANOS));
        }
    }

    private void sendFailed(StoreException cause) {
        if (cause.effect() == Effect.UNKNOWN) {
            claim = claim.again();
        }
        if (!cause.retryable()) {
            over();
            engine.releases().endIfRepeated(claim);
            resource.queue().refused(this, cause);
            return;
        }
        fail(cause, sentAt);
        // The last waiter may just have given up, and ended this.
        if (state == State.SENT) {
            again(Backoff.jittered(tries++, RETRY_FIRST_NANOS, RETRY_MOST_NANOS));
        }
    }

    private void again(long after) {
        state = State.READY;
        notBefore = engine.now() + after;
        engine.forget(this);
        resource.queue().wakeDriver(this);
    }

    // The old claim is gone from the store, so a new one is made: an id is used for one attempt only.
    private void beginAnew(long after) {
        leave();
        trouble.forgetQuestion();
        claim = engine.newClaim(spec);
        everSent = false;
        again(after);
    }

    private void fail(StoreException cause, long since) {
        trouble.failed(cause, since);
        resource.queue().outage(this, cause);
    }

    private void well() {
        slowSince = NOT_SLOW;
        answered();
    }

    // Perhaps too late: what is over then is the silence, but not the slowness.
    private void answered() {
        trouble.over();
        tries = 0;
    }

    // ---- refreshing the ticket ----

    private void scheduleRefresh(int position, Duration retryAfter) {
        long refresh = engine.traits().ticketTtl().toNanos() / REFRESH_PART;
        refresh -= ThreadLocalRandom.current().nextLong(refresh / 10 + 1);
        if (!retryAfter.isZero()) {
            long stagger = Math.min(position, STAGGER_MOST) * STAGGER_NANOS;
            refresh = Math.min(refresh, retryAfter.toNanos() + stagger + AFTER_EXPIRY_NANOS);
        }
        renewAt = engine.now() + refresh;
    }

    @Override
    public long renewAt() {
        return renewAt;
    }

    // Not before: a question that comes before the holder's time is over is asked in vain.
    @Override
    public long renewFrom() {
        return renewAt;
    }

    @Override
    public @Nullable Claim beginRenewal(long now, HeldNames held) {
        resource.mutex().lock();
        try {
            if (state != State.WAITING && state != State.CONFIRMING) {
                return null;
            }
            renewAt = now + engine.repeatAfter(engine.traits().ticketTtl().toNanos());
            trouble.asked(now);
            OwnerInfo owner = engine.ownerOf(resource.queue().threadsBehind(this), held);
            claim = new Claim(
                    claim.name(), claim.id(), claim.permits(), claim.limit(), claim.lease(), owner, claim.repeated());
            return claim;
        } finally {
            resource.mutex().unlock();
        }
    }

    @Override
    public void renewed(Claim asked, Renewed answer, long answeredFrom) {
        resource.transition(() -> {
            if (!asked.id().equals(claim.id()) || (state != State.WAITING && state != State.CONFIRMING)) {
                return;
            }
            if (answer instanceof Granted held) {
                arrive(held, answeredFrom);
            } else if (answer instanceof Renewed.Waiting place) {
                well();
                state = State.WAITING;
                waitingSince = Math.max(waitingSince, answeredFrom);
                scheduleRefresh(place.position(), place.retryAfter());
                engine.renewals().wakeBy(renewAt);
            } else if (answer instanceof Renewed.Failed failure) {
                refreshFailed(failure.cause());
            } else {
                beginAnew(0);
            }
        });
    }

    @Override
    public void renewalFailed(Claim asked, StoreException cause) {
        resource.transition(() -> {
            if (asked.id().equals(claim.id()) && (state == State.WAITING || state == State.CONFIRMING)) {
                refreshFailed(cause);
            }
        });
    }

    private void refreshFailed(StoreException cause) {
        renewAt = engine.now() + Backoff.jittered(tries++, RETRY_FIRST_NANOS, RETRY_MOST_NANOS);
        engine.renewals().wakeBy(renewAt);
        fail(cause, engine.now());
    }
}
