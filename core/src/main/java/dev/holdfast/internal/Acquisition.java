package dev.holdfast.internal;

import dev.holdfast.LockConflictException;
import dev.holdfast.LockException;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The ways in which a thread acquires: at once or not at all, and waiting. Whose the hold becomes is a parameter, since
 * nothing else differs.
 */
final class Acquisition {

    /** A thread that waits without a limit still looks around so often, in case a wake-up was lost: one hour. */
    private static final long LONGEST_PARK_NANOS = 3_600_000_000_000L;

    /** An attempt that was granted, but so late that its lease is half over, is made anew so often. */
    private static final int MOST_LATE_GRANTS = 3;

    private static final long RETRY_FIRST_NANOS = 10_000_000;
    private static final long RETRY_MOST_NANOS = 500_000_000;

    private final Engine engine;
    private final Request request;
    private final Owner owner;

    /** Whose the hold becomes. */
    enum Owner {
        /** The calling thread's, through {@code lock()}. */
        THREAD,
        /** A lease's, which the calling thread acquires. */
        LEASE,
        /** A lease's, which the calling thread acquires on behalf of a future. */
        FUTURE
    }

    Acquisition(Engine engine, Request request, Owner owner) {
        this.engine = engine;
        this.request = request;
        this.owner = owner;
    }

    private boolean forThread() {
        return owner == Owner.THREAD;
    }

    /**
     * Waits until the calling thread holds, the time is over, or, if it may, it is interrupted.
     *
     * @param maxWait in nanoseconds; {@link Long#MAX_VALUE} for no limit
     * @return the hold; for {@code lock()} the thread's present one if this was a re-entry; null if the time is over
     */
    @Nullable
    Hold await(long maxWait, boolean interruptible) throws InterruptedException {
        long begun = engine.now();
        long deadline = Times.after(begun, maxWait);
        Resource resource = engine.enter(request.name());
        Waiter waiter;
        try {
            Hold here = takeHere(resource, true, begun);
            if (here != null) {
                return here;
            }
            waiter = Waiter.ofThread(request, forThread(), begun, deadline);
            resource.queue().join(waiter);
        } finally {
            resource.retireIfUnused();
            resource.mutex().unlock();
        }
        return ended(waiter, await(resource, waiter, interruptible), begun);
    }

    private Outcome await(Resource resource, Waiter waiter, boolean interruptible) throws InterruptedException {
        boolean interrupted = false;
        try {
            while (true) {
                long until = resource.queue().advance(waiter);
                if (waiter.isDone()) {
                    return Outcome.TIMED_OUT;
                }
                if (!Thread.currentThread().isInterrupted()) {
                    engine.clock().parkNanos(waiter, Math.min(until - engine.now(), LONGEST_PARK_NANOS));
                }
                if (Thread.interrupted()) {
                    interrupted = true;
                    if (interruptible && resource.abandon(waiter)) {
                        interrupted = false;
                        return Outcome.INTERRUPTED;
                    }
                }
            }
        } finally {
            // Not done means that something was thrown which should not have been; the others must not wait behind it.
            resource.abandon(waiter);
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private @Nullable Hold ended(Waiter waiter, Outcome without, long begun) throws InterruptedException {
        Hold hold;
        try {
            hold = waiter.outcome();
        } catch (LockException failure) {
            engine.observeEnd(request.name(), Outcome.FAILED, begun);
            throw failure;
        }
        engine.observeEnd(request.name(), hold != null ? Outcome.ACQUIRED : without, begun);
        if (hold == null && without == Outcome.INTERRUPTED) {
            throw new InterruptedException("Interrupted while waiting for lock \"" + request.name() + "\"");
        }
        return hold;
    }

    /** Takes it if it is free now; at most one trip if all goes well. Null if it is not. */
    @Nullable
    Hold tryNow() {
        long begun = engine.now();
        Resource resource = engine.enter(request.name());
        try {
            Hold here = takeHere(resource, false, begun);
            if (here != null) {
                return here;
            }
            if (isHeldByThread(resource) || resource.isKnownBusy(request)) {
                return busy(begun);
            }
        } finally {
            resource.retireIfUnused();
            resource.mutex().unlock();
        }
        for (int late = 0; late < MOST_LATE_GRANTS; late++) {
            Sent sent = attempt(engine.newClaim(request), begun);
            if (!(sent.attempt() instanceof Granted granted)) {
                return busy(begun);
            }
            Validity validity = Validity.of(sent.sentAt(), granted.lease());
            long now = engine.now();
            if (validity.hasHalfLeft(now)) {
                return adopt(new Arrival(sent.claim(), granted.counter(), validity), begun, now);
            }
            engine.releases().sendLater(sent.claim());
        }
        return busy(begun);
    }

    private record Sent(Claim claim, Attempt attempt, long sentAt) {}

    private record Arrival(Claim claim, long counter, Validity validity) {}

    private Hold adopt(Arrival arrival, long begun, long now) {
        Resource resource = engine.enter(request.name());
        try {
            if (engine.isClosed()) {
                engine.releases().sendLater(arrival.claim());
                throw engine.closedException(request.name());
            }
            Grant grant = new Grant(resource, request, arrival.claim(), arrival.counter(), arrival.validity(), now);
            Hold hold =
                    resource.adopt(grant, request, owner == Owner.FUTURE ? null : Thread.currentThread(), forThread());
            engine.observeEnd(request.name(), Outcome.ACQUIRED, begun);
            return hold;
        } finally {
            resource.mutex().unlock();
        }
    }

    private @Nullable Hold busy(long begun) {
        engine.observeEnd(request.name(), Outcome.BUSY, begun);
        return null;
    }

    // Under the mutex. A thread that holds the name through lock() takes it once more, or is told that it would wait
    // for itself; else a grant that is in this JVM already may do.
    private @Nullable Hold takeHere(Resource resource, boolean wouldWait, long begun) {
        Thread thread = Thread.currentThread();
        if (!isHeldByThread(resource)) {
            Hold here = resource.takeLocal(request, owner == Owner.FUTURE ? null : thread, forThread());
            if (here != null) {
                engine.observeEnd(request.name(), Outcome.ACQUIRED, begun);
            }
            return here;
        }
        if (forThread()) {
            return resource.threads().reenter(thread, request, wouldWait, engine);
        }
        if (wouldWait) {
            throw new LockException("Thread " + thread.getName() + " holds \"" + request.name()
                    + "\" through lock() and asked for a lease of it: it would wait for itself. Unlock first, or use lock()"
                    + " again");
        }
        return null;
    }

    private boolean isHeldByThread(Resource resource) {
        return owner != Owner.FUTURE && resource.threads().has(Thread.currentThread());
    }

    // One trip; more only if the store fails, and then for no longer than storeTimeout. After an unknown outcome the
    // same claim is sent again, so that a grant whose reply was lost is found.
    private Sent attempt(Claim first, long begun) {
        Claim claim = first;
        for (int tries = 0; ; tries++) {
            long sentAt = engine.now();
            try {
                Claim sending = claim;
                Attempt attempt =
                        engine.answers().join(() -> engine.store().tryAcquire(sending), request.storeTimeout());
                if (attempt instanceof Attempt.Busy) {
                    engine.releases().endIfRepeated(sending);
                }
                return new Sent(sending, attempt, sentAt);
            } catch (KindConflictException conflict) {
                engine.releases().endIfRepeated(claim);
                throw new LockConflictException(String.valueOf(conflict.getMessage()), conflict);
            } catch (StoreException failure) {
                claim = failure.effect() == Effect.UNKNOWN ? claim.again() : claim;
                long pause = Backoff.jittered(tries, RETRY_FIRST_NANOS, RETRY_MOST_NANOS);
                if (!failure.retryable() || Times.after(begun, request.storeTimeout()) <= engine.now() + pause) {
                    engine.releases().endIfRepeated(claim);
                    engine.observeEnd(request.name(), Outcome.FAILED, begun);
                    throw unavailable(failure);
                }
                engine.answers().pause(pause);
            }
        }
    }

    private StoreUnavailableException unavailable(StoreException cause) {
        return new StoreUnavailableException(
                "Lock \"" + request.name() + "\" could not be tried by client " + engine.clientId() + ": the "
                        + engine.traits().product() + " store failed: " + cause.getMessage() + " (storeTimeout "
                        + Duration.ofNanos(request.storeTimeout()).toMillis()
                        + " ms). Check that it runs and can be reached",
                cause);
    }
}
