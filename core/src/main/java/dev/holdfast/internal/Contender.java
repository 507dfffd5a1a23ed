package dev.holdfast.internal;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.Ticket;
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
 * <p>Invariants: OVER is final, and what arrives after it is dropped; whoever ends a contender that may have left
 * something in the store releases its claim, so that a late grant is undone by the store itself (law 4). After an UNKNOWN
 * outcome the same claim is sent again, marked as repeated (law 2). Guarded by the resource's mutex.
 */
final class Contender implements ClaimListener, Renewable {

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
    /** The sending of the last request that was answered "still waiting": a pushed grant counts from it. */
    private long waitingSince;

    private int tries;
    private int confirmations;
    private long outageSince = -1;
    private Ticket ticket = Ticket.NONE;
    private Ticket hint = Ticket.NONE;
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

    boolean isOver() {
        return state == State.OVER;
    }

    /** Whether somebody should {@link #send} it now. */
    boolean isDue(long now) {
        return state == State.READY && now >= notBefore;
    }

    /** When it should be looked at again by whoever drives it; {@link Long#MAX_VALUE} if it will call. */
    long driveAt() {
        return switch (state) {
            case READY -> notBefore;
            case SENT -> sentAt + spec.storeTimeout();
            default -> Long.MAX_VALUE;
        };
    }

    /** Since when the store has failed, or has not answered; -1 if it is well. */
    long outageSince(long now) {
        if (outageSince >= 0) {
            return outageSince;
        }
        return state == State.SENT && now - sentAt >= spec.storeTimeout() ? sentAt : -1;
    }

    /** Under the mutex: claims the right to send. */
    void beginSend(long now) {
        state = State.SENT;
        sentAt = now;
        waitingSince = now;
        everSent = true;
        engine.expect(this);
    }

    /** Without the mutex, after {@link #beginSend}. May block, as the store does. */
    void send() {
        try {
            if (queues) {
                keep(engine.store().enqueue(claim, this));
            } else {
                askForHints();
                engine.store().tryAcquire(claim).whenComplete((attempt, failure) -> {
                    if (failure != null) {
                        failed(Stages.storeException(failure));
                    } else if (attempt instanceof Attempt.Granted granted) {
                        granted(granted.counter(), granted.lease());
                    } else {
                        busy();
                    }
                });
            }
        } catch (RuntimeException failure) {
            failed(Stages.storeException(failure));
        }
    }

    // Only from the second attempt on: most attempts of a spinning lock succeed at once.
    private void askForHints() {
        if (tries > 0 && hint == Ticket.NONE) {
            hint = engine.store().watch(spec.name(), this::hinted);
        }
    }

    private void keep(Ticket listening) {
        resource.mutex().lock();
        try {
            if (state == State.SENT || state == State.WAITING) {
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
        renewAt = Long.MAX_VALUE;
        engine.forget(this);
        engine.renewals().remove(this);
        ticket.close();
        hint.close();
    }

    @Override
    public void waiting(int position, Duration retryAfter) {
        resource.mutex().lock();
        try {
            if (state == State.SENT) {
                state = State.WAITING;
                well();
                scheduleRefresh(position, retryAfter);
                engine.renewals().add(this);
            }
        } finally {
            resource.mutex().unlock();
        }
    }

    @Override
    public void granted(long counter, Duration lease) {
        grantedSince(counter, lease, -1);
    }

    /**
     * The claim was granted.
     *
     * @param since when the request that was answered with it was sent; negative for a push
     */
    void grantedSince(long counter, Duration lease, long since) {
        resource.transition(() -> {
            if (state == State.SENT || state == State.WAITING) {
                arrive(counter, Validity.of(Math.max(since, waitingSince), lease));
            }
        });
    }

    // A pushed grant may have been on its way for long, and lives only as long as a ticket: too short for a fixed
    // lease.
    private void arrive(long counter, Validity validity) {
        well();
        long now = engine.now();
        long needed = spec.autoRenew() ? validity.span() : engine.leaseNanos(spec);
        if (validity.deadline() - now < needed / 2 - Validity.MARGIN_NANOS && confirmations++ < MOST_CONFIRMATIONS) {
            state = State.CONFIRMING;
            renewAt = now;
            engine.renewals().add(this);
            return;
        }
        over();
        resource.admit(this, new Grant(resource, spec, claim, counter, validity, now));
    }

    private void busy() {
        resource.transition(() -> {
            if (state == State.SENT) {
                well();
                again(Backoff.jittered(tries++, SPIN_FIRST_NANOS, SPIN_MOST_NANOS));
            }
        });
    }

    private void hinted() {
        resource.transition(() -> {
            if (state == State.READY) {
                notBefore = engine.now();
                resource.wakeDriver(this);
            }
        });
    }

    @Override
    public void ended(Renewed.Reason reason) {
        resource.transition(() -> {
            if (state == State.SENT || state == State.WAITING) {
                beginAnew();
            }
        });
    }

    @Override
    public void failed(StoreException cause) {
        resource.transition(() -> {
            if (state != State.SENT) {
                return;
            }
            if (cause.effect() == Effect.UNKNOWN) {
                claim = claim.again();
            }
            if (!cause.retryable()) {
                over();
                resource.refused(this, cause);
                return;
            }
            outage(cause);
            // The last waiter may just have given up, and ended this.
            if (state == State.SENT) {
                again(Backoff.jittered(tries++, RETRY_FIRST_NANOS, RETRY_MOST_NANOS));
            }
        });
    }

    private void again(long after) {
        state = State.READY;
        notBefore = engine.now() + after;
        engine.forget(this);
        resource.wakeDriver(this);
    }

    // The old claim is gone from the store, so a new one is made: an id is used for one attempt only.
    private void beginAnew() {
        engine.renewals().remove(this);
        ticket.close();
        ticket = Ticket.NONE;
        engine.forget(this);
        claim = engine.newClaim(spec);
        everSent = false;
        state = State.READY;
        renewAt = Long.MAX_VALUE;
        notBefore = engine.now();
        resource.wakeDriver(this);
    }

    private void outage(StoreException cause) {
        if (outageSince < 0) {
            outageSince = sentAt;
        }
        resource.outage(this, outageSince, cause);
    }

    private void well() {
        outageSince = -1;
        tries = state == State.SENT && !queues ? tries : 0;
    }

    private void scheduleRefresh(int position, Duration retryAfter) {
        long now = engine.now();
        long refresh = engine.traits().ticketTtl().toNanos() / REFRESH_PART;
        refresh -= ThreadLocalRandom.current().nextLong(refresh / 10 + 1);
        if (!retryAfter.isZero()) {
            long stagger = Math.min(position, STAGGER_MOST) * STAGGER_NANOS;
            refresh = Math.min(refresh, retryAfter.toNanos() + stagger + AFTER_EXPIRY_NANOS);
        }
        renewAt = now + refresh;
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
    public @Nullable Claim beginRenewal(long sentAt) {
        resource.mutex().lock();
        try {
            if (state != State.WAITING && state != State.CONFIRMING) {
                return null;
            }
            renewAt = sentAt + engine.callTimeout();
            this.sentAt = sentAt;
            OwnerInfo owner = engine.ownerOf(resource.queuedThreads(only));
            claim = new Claim(
                    claim.name(), claim.id(), claim.permits(), claim.limit(), claim.lease(), owner, claim.repeated());
            return claim;
        } finally {
            resource.mutex().unlock();
        }
    }

    @Override
    public void renewed(Renewed answer, long sentAt) {
        if (answer instanceof Renewed.Failed failure) {
            renewalFailed(failure.cause());
            return;
        }
        resource.transition(() -> {
            if (state != State.WAITING && state != State.CONFIRMING) {
                return;
            }
            if (answer instanceof Renewed.Held held) {
                arrive(held.counter(), Validity.of(sentAt, held.lease()));
            } else if (answer instanceof Renewed.Waiting place) {
                well();
                state = State.WAITING;
                waitingSince = sentAt;
                scheduleRefresh(place.position(), place.retryAfter());
                engine.renewals().wakeBy(renewAt);
            } else {
                beginAnew();
            }
        });
    }

    @Override
    public void renewalFailed(StoreException cause) {
        resource.transition(() -> {
            if (state == State.WAITING || state == State.CONFIRMING) {
                renewAt = engine.now() + Backoff.jittered(tries++, RETRY_FIRST_NANOS, RETRY_MOST_NANOS);
                engine.renewals().wakeBy(renewAt);
                outage(cause);
            }
        });
    }
}
