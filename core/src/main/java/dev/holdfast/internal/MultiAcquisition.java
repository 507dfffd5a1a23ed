package dev.holdfast.internal;

import dev.holdfast.LockConflictException;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.internal.Acquisition.Owner;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Acquires several names, all or none: in one step where the store can and all are free; else one after the other in the
 * order of their names, on one time budget, renewing what is held meanwhile and rolling back on failure. The user's lease
 * and {@code maxHold} begin when all are held.
 */
final class MultiAcquisition {

    private static final long RETRY_FIRST_NANOS = 10_000_000;
    private static final long RETRY_MOST_NANOS = 500_000_000;

    private final Engine engine;
    private final List<Request> requests;
    private final boolean forThread;

    /** @param forThread whether the holds become the calling thread's own, through {@code lock()} */
    MultiAcquisition(Engine engine, List<Request> requests, boolean forThread) {
        this.engine = engine;
        this.requests = requests;
        this.forThread = forThread;
    }

    /** Waits for all; null if the time is over, and then none is held. */
    @Nullable
    List<Hold> await(long maxWait, boolean interruptible) throws InterruptedException {
        long begun = engine.now();
        long deadline = Times.after(begun, maxWait);
        List<Hold> atOnce = tryAtOnce(false, maxWait, interruptible);
        if (atOnce != null) {
            return atOnce;
        }
        // With no time left, each is still asked for once; whoever waits for it gives up at once.
        return oneByOne(member -> {
            long left = deadline == Long.MAX_VALUE ? deadline : Math.max(0, deadline - engine.now());
            return member.await(left, interruptible);
        });
    }

    /** Takes all if all are free now. */
    @Nullable
    List<Hold> tryNow() {
        try {
            if (isAtOncePossible()) {
                return tryAtOnce(true, Long.MAX_VALUE, false);
            }
            return oneByOne(Acquisition::tryNow);
        } catch (InterruptedException impossible) {
            throw new AssertionError("Nobody waits", impossible);
        }
    }

    /** One way to acquire a member. */
    private interface Step {
        @Nullable
        Hold take(Acquisition member) throws InterruptedException;
    }

    private @Nullable List<Hold> oneByOne(Step step) throws InterruptedException {
        List<Hold> holds = new ArrayList<>();
        List<Hold> fresh = new ArrayList<>();
        boolean complete = false;
        try {
            for (Request request : requests) {
                boolean isHeld = isHeld(request);
                Hold hold = step.take(
                        new Acquisition(engine, request.renewedWithoutEnd(), forThread ? Owner.THREAD : Owner.LEASE));
                if (hold == null) {
                    return null;
                }
                holds.add(hold);
                if (!isHeld) {
                    fresh.add(hold);
                }
            }
            begin(engine, requests.get(0), fresh);
            complete = true;
            return holds;
        } finally {
            if (!complete) {
                rollBack(holds);
            }
        }
    }

    private boolean isAtOncePossible() {
        return engine.traits().atomicSeveral()
                && requests.size() > 1
                && requests.size() <= LockStore.MAX_SEVERAL
                && !holdsAny();
    }

    // A thread that holds some of the names takes those once more, which the store cannot do.
    private boolean holdsAny() {
        return requests.stream().anyMatch(this::isHeld);
    }

    private boolean isHeld(Request request) {
        Resource resource = engine.peek(request.name());
        if (resource == null) {
            return false;
        }
        resource.mutex().lock();
        try {
            return resource.threads().has(Thread.currentThread());
        } finally {
            resource.mutex().unlock();
        }
    }

    // One trip if all goes well. Null if not all are free; also after a failure if the caller goes on one by one, where
    // failures are repeated and reported. Else they are repeated here: after an unknown outcome with the same claims.
    private @Nullable List<Hold> tryAtOnce(boolean failuresMatter, long maxWait, boolean interruptible)
            throws InterruptedException {
        if (!isAtOncePossible() || isAnyKnownBusy()) {
            return null;
        }
        long storeTimeout = requests.get(0).storeTimeout();
        long until = Times.after(engine.now(), Math.min(maxWait, storeTimeout));
        List<Claim> claims = requests.stream().map(engine::newClaim).toList();
        for (int tries = 0; ; tries++) {
            List<Claim> sent = claims;
            long sentAt = engine.now();
            try {
                List<Attempt> attempts =
                        engine.answers().join(() -> engine.store().tryAcquireAll(sent), until - sentAt, interruptible);
                if (attempts.stream().anyMatch(Attempt.Busy.class::isInstance)) {
                    endIfRepeated(sent);
                    return null;
                }
                return adopt(sent, attempts, sentAt);
            } catch (KindConflictException conflict) {
                endIfRepeated(sent);
                throw new LockConflictException(String.valueOf(conflict.getMessage()), conflict);
            } catch (InterruptedException interrupted) {
                giveBack(sent);
                throw interrupted;
            } catch (StoreException failure) {
                claims = failure.effect() == Effect.UNKNOWN
                        ? sent.stream().map(Claim::again).toList()
                        : sent;
                long pause = Backoff.jittered(tries, RETRY_FIRST_NANOS, RETRY_MOST_NANOS);
                if (!failuresMatter || !failure.retryable() || engine.now() + pause >= until) {
                    endIfRepeated(claims);
                    if (failuresMatter) {
                        throw unavailable(failure);
                    }
                    return null;
                }
                engine.answers().pause(pause);
            }
        }
    }

    private void endIfRepeated(List<Claim> claims) {
        claims.forEach(engine.releases()::endIfRepeated);
    }

    private void giveBack(List<Claim> claims) {
        claims.forEach(engine.releases()::sendLater);
    }

    private @Nullable List<Hold> adopt(List<Claim> claims, List<Attempt> attempts, long sentAt) {
        List<Validity> validities = attempts.stream()
                .map(attempt -> Validity.of(sentAt, ((Granted) attempt).lease()))
                .toList();
        long now = engine.now();
        if (!validities.stream().allMatch(validity -> validity.hasHalfLeft(now))) {
            giveBack(claims);
            return null;
        }
        List<Hold> holds = new ArrayList<>();
        for (int i = 0; i < claims.size(); i++) {
            Request request = requests.get(i).withoutListener();
            long counter = ((Granted) attempts.get(i)).counter();
            Resource resource = engine.enter(request.name());
            try {
                if (engine.isClosed()) {
                    // The close has lost those before this one; these it does not know.
                    giveBack(claims.subList(i, claims.size()));
                    throw engine.closedException(request.name());
                }
                Grant grant = new Grant(resource, request, claims.get(i), counter, validities.get(i), now);
                holds.add(resource.adopt(grant, request, Thread.currentThread(), forThread));
            } finally {
                resource.retireIfUnused();
                resource.mutex().unlock();
            }
        }
        listenOnce(engine, requests.get(0), holds);
        return holds;
    }

    private boolean isAnyKnownBusy() {
        for (Request request : requests) {
            Resource resource = engine.enter(request.name());
            try {
                if (resource.isKnownBusy(request)) {
                    return true;
                }
            } finally {
                resource.retireIfUnused();
                resource.mutex().unlock();
            }
        }
        return false;
    }

    /**
     * All are held: begins the user's lease and {@code maxHold}. Names that the thread held before keep theirs.
     *
     * @param user a request with the user's options
     * @param fresh the holds that were acquired just now
     * @throws LockLostException if one of them was lost meanwhile
     */
    static void begin(Engine engine, Request user, List<Hold> fresh) {
        if (!user.autoRenew() && !fresh.isEmpty()) {
            restart(engine, user, fresh);
        }
        for (Hold hold : fresh) {
            hold.resource().transition(() -> {
                long now = engine.now();
                hold.grant().fix(user.of(hold.request().name()));
                hold.limitFrom(now, user.maxHold());
                hold.grant().scheduleEvent(now);
            });
            if (!hold.isHeld(engine.now())) {
                throw hold.lostException(engine);
            }
        }
        listenOnce(engine, user, fresh);
    }

    private static void restart(Engine engine, Request user, List<Hold> holds) {
        long sentAt = engine.now();
        List<Claim> claims =
                holds.stream().map(hold -> hold.grant().claimFor(user.lease())).toList();
        List<Renewed> answers;
        try {
            answers = engine.answers().join(() -> engine.store().renew(claims), user.storeTimeout());
        } catch (StoreException failure) {
            throw notBegun(failure);
        }
        StoreException failed = null;
        for (int i = 0; i < holds.size(); i++) {
            holds.get(i).grant().renewed(claims.get(i), answers.get(i), sentAt);
            if (answers.get(i) instanceof Renewed.Failed one) {
                failed = one.cause();
            }
        }
        // Its member has only what is left from the waiting, and is not renewed from now on.
        if (failed != null) {
            throw notBegun(failed);
        }
    }

    private static StoreUnavailableException notBegun(StoreException cause) {
        return new StoreUnavailableException(
                "The lease of a multi-lock could not be begun: " + cause.getMessage(), cause);
    }

    // The user's listener hears of one loss, not of each member's.
    private static void listenOnce(Engine engine, Request request, List<Hold> holds) {
        if (request.onLost() != null) {
            MultiLease.listenOnce(engine, holds, request.onLost());
        }
    }

    private void rollBack(List<Hold> holds) {
        for (int i = holds.size() - 1; i >= 0; i--) {
            try {
                if (forThread) {
                    Unlocking.unlock(engine, requests.get(i), Thread.currentThread());
                } else {
                    Unlocking.release(engine, holds.get(i));
                }
            } catch (LockLostException ignored) {
                // It is given up; that it was lost before changes nothing.
            }
        }
    }

    private LockException unavailable(StoreException cause) {
        return new StoreUnavailableException(
                "Locks " + requests.stream().map(Request::name).toList() + " could not be tried by client "
                        + engine.clientId() + ": the " + engine.traits().product() + " store failed: "
                        + cause.getMessage(),
                cause);
    }
}
