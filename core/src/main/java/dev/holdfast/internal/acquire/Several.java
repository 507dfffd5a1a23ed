package dev.holdfast.internal.acquire;

import dev.holdfast.Lease;
import dev.holdfast.LockConflictException;
import dev.holdfast.LockException;
import dev.holdfast.LockObserver;
import dev.holdfast.LockObserver.Acquisition;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.internal.ClosesFirst;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.calls.RepeatedCall;
import dev.holdfast.internal.cohort.CohortLock;
import dev.holdfast.internal.cohort.HeldNames;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.HoldEnd;
import dev.holdfast.internal.hold.HoldExtension;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.hold.SeveralLease;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.internal.time.Uptime;
import dev.holdfast.internal.time.Wakeable;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Acquires several names, all or none. The user's lease and {@code maxHold} begin when all are held.
 *
 * <pre>
 *   start --- all in one step, if the store can ---- granted ----------------------------------> HELD
 *     |            | busy, or failed
 *     +------------+---> one by one, in the order of their names, renewing those that are held
 *                          | all                        | one is not free in time, fails, or the wait is given up
 *                          v                            v
 *                        begin the user's lease -----> roll back, in parallel -----------------> ENDED with none
 *                          | begun
 *                          v
 *                        HELD
 * </pre>
 *
 * <p>Each step begins when the one before has ended, so that the state is used by one thread at a time. Nobody sleeps: a
 * thread that waits for the end is parked on {@code done}, and makes the passes of its members meanwhile; those of a future
 * are made on threads of the engine.
 */
public final class Several implements Wakeable {

    /** So often a name that was lost while others were waited for is taken anew; after that the leases are just too short. */
    private static final int MAX_RETAKES = 10;

    private final Engine engine;
    private final List<LockSpec> specs;
    private final Owner owner;
    /** What the thread held before, for people. */
    private final List<String> heldBefore;

    private final long begun;
    private final boolean once;
    private final long deadline;

    /** The passes that the owner's thread, which waits for the end, has to make; nothing comes here for a future. */
    private final Queue<Runnable> passes = new ConcurrentLinkedQueue<>();

    private final CompletableFuture<Outcome> done = new CompletableFuture<>();
    /** All that are held, in the order of the names. */
    private final List<Hold> holds = new ArrayList<>();
    /** Those of the holds that were not held before. */
    private final List<Hold> fresh = new ArrayList<>();

    /** Those that are not just taken once more. */
    private final List<LockSpec> asked;
    /** What observers have begun. Set before the start. */
    private Map<LockName, Map<LockObserver, Acquisition>> started = Map.of();

    private int retakes;
    private @Nullable RuntimeException failure;
    private volatile @Nullable Outcome givenUp;
    private volatile @Nullable OneStep oneStep;
    private volatile @Nullable FutureWait member;

    private Several(Engine engine, List<LockSpec> specs, Owner owner, List<String> heldBefore, long maxWait) {
        this.engine = engine;
        this.specs = specs;
        this.owner = owner;
        this.heldBefore = heldBefore;
        this.begun = engine.now();
        this.once = maxWait == 0;
        this.deadline = Nanos.after(begun, maxWait);
        this.asked = specs.stream()
                .filter(spec -> !owner.holds() || !isHeld(engine, spec, owner))
                .toList();
    }

    /**
     * Acquires for the calling thread, which is parked until the end.
     *
     * @param specs in the order of their names
     * @param holds whether the holds become the thread's own, through {@code lock()}
     * @param maxWait in nanoseconds; zero not to wait; {@link Nanos#NEVER} for no limit
     * @return the holds; null if not all were free in time
     */
    public static @Nullable List<Hold> acquire(
            Engine engine, List<LockSpec> specs, boolean holds, long maxWait, boolean interruptible)
            throws InterruptedException {
        HeldNames held = engine.locks().heldNames();
        Several all = new Several(engine, specs, new Owner(Thread.currentThread(), holds), held.copy(), maxWait);
        all.observeStart();
        all.start();
        all.await(interruptible);
        Outcome outcome = all.done.join();
        all.observe(outcome);
        if (outcome == Outcome.INTERRUPTED) {
            throw new InterruptedException("Interrupted while waiting for locks " + all.names());
        }
        if (all.failure != null) {
            throw all.failure;
        }
        if (outcome != Outcome.ACQUIRED) {
            return null;
        }
        if (holds) {
            all.fresh.forEach(hold -> held.add(hold.spec().name()));
        }
        return all.holds;
    }

    /** Acquires for a future; see {@link FutureWait#acquire}. */
    public static CompletableFuture<Lease> acquireAsync(Engine engine, List<LockSpec> specs, long maxWait) {
        CompletableFuture<Lease> future = new CompletableFuture<>();
        try {
            engine.beginFuture();
        } catch (RuntimeException tooMany) {
            return CompletableFuture.failedFuture(tooMany);
        }
        Several all = new Several(engine, specs, Owner.NOBODY, List.of(), maxWait);
        all.done.thenAccept(outcome -> {
            engine.endFuture();
            engine.callbacks().run(() -> all.deliver(outcome, future));
        });
        all.observeStart();
        if (!engine.dispatch(all::start)) {
            all.end(Outcome.FAILED, engine.closedException(specs.get(0).name()));
        }
        future.whenComplete((lease, failure) -> all.giveUp(Outcome.CANCELLED));
        return future;
    }

    private void deliver(Outcome outcome, CompletableFuture<Lease> future) {
        observe(outcome);
        if (failure != null) {
            future.completeExceptionally(failure);
        } else if (outcome != Outcome.ACQUIRED) {
            future.completeExceptionally(Wait.timedOut(engine, specs, begun));
        } else {
            SeveralLease lease = new SeveralLease(holds);
            if (!future.complete(lease)) {
                lease.releaseAsync();
            }
        }
    }

    private List<String> names() {
        return specs.stream().map(spec -> spec.name().value()).toList();
    }

    private void await(boolean interruptible) {
        done.whenComplete((outcome, never) -> wakeOwner());
        boolean interrupted = false;
        while (!done.isDone()) {
            Runnable pass = passes.poll();
            if (pass != null) {
                pass.run();
            } else {
                engine.time().park(this, Uptime.LONGEST_PARK_NANOS);
            }
            if (Thread.interrupted()) {
                interrupted = true;
                if (interruptible) {
                    giveUp(Outcome.INTERRUPTED);
                }
            }
        }
        if (interrupted && done.join() != Outcome.INTERRUPTED) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public boolean isWoken() {
        return done.isDone() || !passes.isEmpty();
    }

    // What an alarm may have ended goes on where requests may be made.
    private void goOn(Runnable then) {
        Runnable step = () -> guarded(then);
        if (!dispatch(step)) {
            step.run();
        }
    }

    // Also an Error: somebody waits for the end, and what is held by now nobody else would release.
    private void guarded(Runnable step) {
        try {
            step.run();
        } catch (Throwable failure) {
            rollBack(Outcome.FAILED, asException(failure));
        }
    }

    private @Nullable RuntimeException asException(@Nullable Throwable cause) {
        return cause == null || cause instanceof RuntimeException
                ? (RuntimeException) cause
                : new LockException("Locks " + names() + " could not be acquired: " + cause, cause);
    }

    private boolean dispatch(Runnable pass) {
        if (owner.thread() == null) {
            return engine.dispatch(pass);
        }
        passes.add(pass);
        wakeOwner();
        return true;
    }

    // The thread itself looks before it parks. Unparked, it would not park the next time, perhaps in the program.
    private void wakeOwner() {
        if (owner.thread() != Thread.currentThread()) {
            LockSupport.unpark(owner.thread());
        }
    }

    private void observeStart() {
        if (engine.callbacks().isObserved()) {
            started = new HashMap<>();
            asked.forEach(spec -> started.put(spec.name(), Wait.observeStart(engine, spec)));
        }
    }

    private void observe(Outcome outcome) {
        asked.forEach(spec -> Wait.observe(engine, spec, started.getOrDefault(spec.name(), Map.of()), outcome, begun));
    }

    private void giveUp(Outcome outcome) {
        givenUp = outcome;
        OneStep attempt = oneStep;
        if (attempt != null) {
            attempt.giveUp();
        }
        FutureWait waiting = member;
        if (waiting != null) {
            waiting.cancel();
        }
    }

    // ---- all in one step ----

    private void start() {
        try {
            if (!mayTakeAll()) {
                end(Outcome.BUSY, null);
            } else if (!isOneStepPossible()) {
                next();
            } else if (!isAnyKnownBusy()) {
                OneStep attempt = new OneStep();
                oneStep = attempt;
                attempt.begin();
                if (givenUp != null) {
                    attempt.giveUp();
                }
            } else if (once) {
                end(Outcome.BUSY, null);
            } else {
                next();
            }
        } catch (Throwable refused) { // also an Error: somebody waits for the end
            givenUp = Outcome.FAILED; // what was sent, and is granted, is released
            end(Outcome.FAILED, asException(refused));
        }
    }

    // Before anything is waited for: what the thread holds, and cannot take once more, it would wait for in vain.
    private boolean mayTakeAll() {
        return specs.stream().allMatch(spec -> {
            CohortLock lock = engine.locks().peek(spec.name());
            return lock == null || lock.locked(() -> lock.mayTakeAgain(spec, owner.thread(), owner.holds(), !once));
        });
    }

    // A thread that holds some of the names takes those once more, which the store cannot do.
    private boolean isOneStepPossible() {
        return engine.traits().atomicSeveral()
                && specs.size() > 1
                && specs.size() <= LockStore.MAX_SEVERAL
                && asked.size() == specs.size();
    }

    private static boolean isHeld(Engine engine, LockSpec spec, Owner owner) {
        CohortLock lock = engine.locks().peek(spec.name());
        return lock != null && lock.locked(() -> lock.isLockedBy(owner.thread()));
    }

    private boolean isAnyKnownBusy() {
        for (LockSpec spec : specs) {
            CohortLock lock = engine.locks().enter(spec.name());
            try {
                if (lock.isKnownBusy(spec, null)) {
                    return true;
                }
            } finally {
                lock.leave();
            }
        }
        return false;
    }

    /** The attempt to get all in one step. Who would wait makes it once; who would not repeats it if it fails. */
    private final class OneStep extends RepeatedCall<List<Attempt>> implements ClosesFirst {

        private final CompletableFuture<List<Attempt>> answer = new CompletableFuture<>();
        private volatile List<Claim> claims = specs.stream()
                .map(spec -> engine.newClaim(spec, owner.thread(), heldBefore))
                .toList();
        private long sentAt;
        /** Set by whoever decides what becomes of the claims: the attempt, which takes what is granted, or the close, which releases it. */
        private final AtomicBoolean decided = new AtomicBoolean();
        /** What the attempt has taken is known to the locks, or has left the store. */
        private final CompletableFuture<@Nullable Void> over = new CompletableFuture<>();

        private OneStep() {
            super(
                    engine.retriesOn(Several.this::dispatch),
                    once ? Nanos.after(begun, specs.get(0).storeTimeout()) : begun);
        }

        private void begin() {
            engine.closeFirst(this);
            if (engine.isClosed()) {
                // The close may have looked before this was there.
                giveUp();
            } else {
                start();
            }
            long left = Nanos.until(deadline, engine.now());
            long timeout = Math.min(specs.get(0).storeTimeout(), once ? Nanos.NEVER : left);
            engine.calls()
                    .within(answer, timeout, engine.losses())
                    .whenComplete((attempts, failed) -> goOn(() -> {
                        if (failed != null) {
                            oneStepFailed(claims, StoreException.of(failed));
                        } else if (decided.compareAndSet(false, true)) {
                            oneStepAnswered(claims, attempts, sentAt);
                        } else {
                            oneStepFailed(claims, givenUp());
                        }
                    }));
        }

        private void giveUp() {
            answer.completeExceptionally(givenUp());
        }

        // What was sent may have had an effect.
        private static StoreException givenUp() {
            return StoreException.unavailable(StoreException.Effect.UNKNOWN, "The wait was given up", null);
        }

        // What was or will be granted is released while requests can still be sent. What the attempt takes up
        // already ends as all holds do: if it were released here, another client could have it before its hold
        // has ended.
        @Override
        public CompletableFuture<@Nullable Void> leave() {
            if (!decided.compareAndSet(false, true)) {
                return over;
            }
            giveUp();
            return CompletableFuture.allOf(claims.stream()
                    .map(Claim::again)
                    .map(engine.releases()::sendLater)
                    .toArray(CompletableFuture[]::new));
        }

        @Override
        protected CompletionStage<List<Attempt>> send() {
            if (answer.isDone()) {
                // Given up, and released: when the tombstones are gone, it would be granted to nobody.
                return CompletableFuture.failedStage(StoreException.refused("The wait was given up", null));
            }
            sentAt = engine.now();
            return engine.store().tryAcquireAll(claims);
        }

        @Override
        protected void outcomeIsUnknown() {
            claims = claims.stream().map(Claim::again).toList();
        }

        @Override
        protected void answered(List<Attempt> attempts) {
            answer.complete(attempts);
        }

        @Override
        protected void failed(StoreException cause) {
            answer.completeExceptionally(cause);
        }
    }

    private void oneStepAnswered(List<Claim> claims, List<Attempt> attempts, long sentAt) {
        boolean anyBusy = attempts.stream().anyMatch(Attempt.Busy.class::isInstance);
        if (anyBusy || givenUp != null) {
            afterRelease(claims.stream().filter(claim -> !anyBusy || claim.repeated()), this::oneStepEnded);
            return;
        }
        adopt(claims, attempts, sentAt);
        if (holds.size() == claims.size()) {
            leaseBegun();
        } else {
            // What was adopted may go to another thread here; the rest is known to nobody.
            Stream<Claim> rest = claims.stream().skip(holds.size());
            afterEnds(endHolds(0), () -> afterRelease(rest, this::oneStepEnded));
        }
    }

    private void oneStepEnded() {
        oneStepIsOver();
        if (failure != null || givenUp != null) {
            rollBack(givenUp == null ? Outcome.FAILED : givenUp, failure);
        } else if (once) {
            end(Outcome.BUSY, null);
        } else {
            next();
        }
    }

    private void oneStepIsOver() {
        OneStep attempt = oneStep;
        if (attempt != null) {
            engine.closesAlone(attempt);
            attempt.over.complete(null);
        }
    }

    private void oneStepFailed(List<Claim> claims, StoreException cause) {
        // An attempt that is not answered may still be granted.
        boolean unknown = cause.effect() == StoreException.Effect.UNKNOWN;
        if (engine.isClosed()) {
            failure = engine.closedException(specs.get(0).name());
        } else if (cause instanceof KindConflictException) {
            failure = new LockConflictException(String.valueOf(cause.getMessage()), cause);
        } else if (once) {
            failure = unavailable(cause);
        }
        // One by one, failures are repeated and reported.
        afterRelease(
                claims.stream().map(claim -> unknown ? claim.again() : claim).filter(Claim::repeated),
                this::oneStepEnded);
    }

    // Goes on when the claims have left the store, or when that takes too long.
    private void afterRelease(Stream<Claim> claims, Runnable then) {
        CompletableFuture<?>[] leaving =
                claims.map(engine.releases()::sendLater).toArray(CompletableFuture[]::new);
        engine.calls()
                .within(CompletableFuture.allOf(leaving), Wait.LEAVING_NANOS, engine.losses())
                .whenComplete((all, late) -> goOn(then));
    }

    private StoreUnavailableException unavailable(StoreException cause) {
        return new StoreUnavailableException(
                "Locks " + names() + " could not be acquired by client " + engine.clientId() + ": the "
                        + engine.traits().product() + " store failed: " + cause.getMessage(),
                cause);
    }

    // Ends before the first that came too late.
    private void adopt(List<Claim> claims, List<Attempt> attempts, long sentAt) {
        try {
            for (int i = 0; i < claims.size(); i++) {
                LockSpec spec = specs.get(i).ofMember();
                CohortLock lock = engine.locks().enter(spec.name());
                try {
                    Granted granted = (Granted) attempts.get(i);
                    Hold hold = lock.adopt(spec, claims.get(i), granted, sentAt, owner.thread(), owner.holds());
                    if (hold == null) {
                        return;
                    }
                    holds.add(hold);
                    fresh.add(hold);
                } finally {
                    lock.leave();
                }
            }
        } catch (Throwable closed) { // also an Error: the rest is known to nobody, and is released behind this
            failure = asException(closed);
        }
    }

    // ---- one by one ----

    private void next() {
        int index = holds.size();
        if (failure != null || givenUp != null) {
            rollBack(givenUp == null ? Outcome.FAILED : givenUp, failure);
        } else if (index == specs.size()) {
            beginLease();
        } else {
            LockSpec spec = specs.get(index);
            boolean heldBefore = isHeld(engine, spec, owner);
            FutureWait wait = new FutureWait(
                    engine,
                    spec.renewedWithoutEnd(),
                    owner,
                    this::dispatch,
                    result -> goOn(() -> memberEnded(result, heldBefore)));
            member = wait;
            // With no time left, each is still asked for, but not waited for.
            wait.start(once, deadline, heldNow());
            if (givenUp != null) {
                wait.cancel();
            }
        }
    }

    private List<String> heldNow() {
        return owner.holds()
                ? Stream.concat(heldBefore.stream(), fresh.stream().flatMap(hold -> hold.names().stream()))
                        .toList()
                : heldBefore;
    }

    private void memberEnded(FutureWait.Result result, boolean heldBefore) {
        Hold hold = result.hold();
        if (hold != null) {
            holds.add(hold);
            if (!heldBefore) {
                fresh.add(hold);
            }
            next();
        } else {
            Outcome outcome = givenUp != null ? givenUp : result.outcome();
            rollBack(outcome, asException(result.failure()));
        }
    }

    // All are held. Those that the thread held before keep their leases.
    private void beginLease() {
        LockSpec user = specs.get(0);
        if (user.autoRenew() || fresh.isEmpty()) {
            leaseBegun();
            return;
        }
        CompletableFuture<Boolean> extended;
        try {
            extended = HoldExtension.send(fresh, user.lease()).toCompletableFuture();
        } catch (RuntimeException failed) {
            extended = CompletableFuture.failedFuture(failed);
        }
        engine.calls()
                .within(extended, user.storeTimeout(), engine.losses())
                .whenComplete((all, failed) -> goOn(() -> {
                    if (failed == null) {
                        leaseBegun();
                    } else {
                        rollBack(Outcome.FAILED, HoldExtension.notExtended(fresh, StoreException.of(failed)));
                    }
                }));
    }

    private void leaseBegun() {
        for (Hold hold : holds) {
            if (!hold.isHeld()) {
                if (fresh.contains(hold)) {
                    retake(hold);
                } else {
                    // The thread had it before, and has to know that it has lost it.
                    rollBack(Outcome.FAILED, hold.lostException());
                }
                return;
            }
        }
        for (Hold hold : fresh) {
            LockSpec user = specs.get(holds.indexOf(hold));
            boolean restarted = hold.grant().home().locked(() -> hold.restart(user));
            if (!restarted) {
                retake(hold);
                return;
            }
        }
        fresh.forEach(Hold::letObserve);
        listen(fresh);
        end(Outcome.ACQUIRED, null);
    }

    // A member was lost before the user had it. It is taken anew, and before that what comes after it is given back,
    // because all take the names in one order.
    private void retake(Hold lost) {
        oneStepIsOver();
        if (once) {
            rollBack(Outcome.BUSY, null);
        } else if (engine.now() >= deadline) {
            rollBack(Outcome.TIMED_OUT, null);
        } else if (retakes++ == MAX_RETAKES) {
            rollBack(Outcome.FAILED, lost.lostException());
        } else {
            afterEnds(endHolds(holds.indexOf(lost)), this::next);
        }
    }

    // The user's listener is called, and his thread interrupted, for one loss, not for each member's.
    private void listen(List<Hold> members) {
        LockSpec user = specs.get(0);
        if (user.onLost() != null) {
            SeveralLease.onFirstLost(members, user.onLost());
        }
        if (user.interruptOnLoss()) {
            Hold.interruptOnFirstLoss(members);
        }
    }

    private void rollBack(Outcome outcome, @Nullable RuntimeException cause) {
        afterEnds(endHolds(0), () -> end(outcome, cause));
    }

    // Ends all holds from this one on, the last one first.
    private List<HoldEnd> endHolds(int from) {
        List<HoldEnd> ends = new ArrayList<>(holds.size());
        for (int i = holds.size() - 1; i >= from; i--) {
            Hold hold = holds.remove(i);
            fresh.remove(hold);
            HoldEnd end = endOf(hold, specs.get(i));
            if (end != null) {
                ends.add(end);
            }
        }
        return ends;
    }

    // Goes on when what has ended has left the store. That one was lost before, or that it takes long, changes nothing.
    private void afterEnds(List<HoldEnd> ends, Runnable then) {
        if (ends.isEmpty()) {
            then.run();
            return;
        }
        engine.calls()
                .within(HoldEnd.allAsync(ends), Wait.LEAVING_NANOS, engine.losses())
                .whenComplete((released, failed) -> goOn(then));
    }

    private @Nullable HoldEnd endOf(Hold hold, LockSpec spec) {
        CohortLock lock = engine.locks().enter(spec.name());
        try {
            return owner.thread() != null && owner.holds() ? lock.unlock(spec, owner.thread()) : hold.end();
        } finally {
            lock.leave();
        }
    }

    private void end(Outcome outcome, @Nullable RuntimeException cause) {
        failure = cause;
        oneStepIsOver();
        done.complete(outcome);
    }
}
