package dev.holdfast.internal;

import dev.holdfast.LockConflictException;
import dev.holdfast.LockException;
import dev.holdfast.LossReason;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One name in use by this JVM: who holds it here, who waits here, and the one claim with which the JVM waits in the store.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>This is a cohort lock (Dice, Marathe, Shavit: Lock Cohorting, PPoPP 2012): local threads queue here, the first of
 * them contends in the store on behalf of all, and an exclusive grant is passed from thread to thread without a trip, at
 * most 1,023 times and 10 ms, before it goes back to the store so that other processes get their turn.
 *
 * <p>States of an exclusive grant: held by one hold; or <em>idle</em>, between two local holders. An idle grant is never
 * left alone: the head of the queue has been signalled and will take it, or release it if it may not be passed on any
 * more. A running thread may take it first (barging), unless the head has been at the head for {@link #BARGE_NANOS}; then
 * the grant is handed to the head directly.
 *
 * <p>Invariants, between two uses of the mutex:
 *
 * <ul>
 *   <li>idle is null or one of the grants, exclusive, with no hold, and then the queue is not empty;
 *   <li>if the queue is not empty, then somebody will make the next step: a hold of an exclusive grant will end, the head
 *       was signalled or wakes by time, or the contender's store or the renewals will call;
 *   <li>a grant is in {@code grants} from its admission until it is released or lost, and nowhere after;
 *   <li>a retired resource is empty and out of the engine's map, and nobody enters it again.
 * </ul>
 *
 * <p>Arbitrary: the bounds; that only the head drives the contender after an idle grant, though any waiter could.
 *
 * <p>The mutex is held for short, never during I/O or user code. Order of locks: this mutex, then the timer's; a store
 * holds none of its own when it calls a listener.
 */
final class Resource {

    /** How long running threads may pass the head of the local queue. */
    static final long BARGE_NANOS = 1_000_000;

    private final Engine engine;
    private final LockName name;
    private final ReentrantLock mutex = new ReentrantLock();
    private final ArrayDeque<Waiter> queue = new ArrayDeque<>(4);
    private final List<Grant> grants = new ArrayList<>(2);
    private final List<Contender> fairContenders = new ArrayList<>(0);
    private final ThreadHolds threads = new ThreadHolds();
    private @Nullable Grant idle;
    private @Nullable Contender contender;
    private boolean retired;

    Resource(Engine engine, LockName name) {
        this.engine = engine;
        this.name = name;
    }

    Engine engine() {
        return engine;
    }

    LockName name() {
        return name;
    }

    ReentrantLock mutex() {
        return mutex;
    }

    boolean isRetired() {
        return retired;
    }

    ThreadHolds threads() {
        return threads;
    }

    List<Grant> grants() {
        return grants;
    }

    /** Runs a change of state under the mutex, and retires the resource if it has become unused. */
    void transition(Runnable change) {
        mutex.lock();
        try {
            change.run();
            retireIfUnused();
        } finally {
            mutex.unlock();
        }
    }

    // ---- taking what is here already; all under the mutex ----

    /** Takes a grant that is in this JVM already, without a trip; null if there is none to take. */
    @Nullable
    Hold takeLocal(Request request, @Nullable Thread thread, boolean forThread) {
        checkKind(request);
        if (request.fair()) {
            return null;
        }
        long now = engine.now();
        Grant found = request.isExclusive() ? takeIdle(request, null, now) : joinable(request, now);
        return found == null ? null : give(found, request, thread, forThread, now);
    }

    private @Nullable Grant takeIdle(Request request, @Nullable Waiter waiter, long now) {
        Grant grant = idle;
        if (grant == null || !request.isServedBy(grant.spec()) || !mayBeTaken(grant, now)) {
            return null;
        }
        Waiter head = queue.peek();
        if (head != null
                && head != waiter
                && isOverdue(head, now)
                && head.request().isServedBy(grant.spec())) {
            return null;
        }
        idle = null;
        return grant;
    }

    private @Nullable Grant joinable(Request request, long now) {
        if (!request.isRead() || !queue.isEmpty()) {
            return null;
        }
        for (Grant grant : grants) {
            if (request.isServedBy(grant.spec()) && grant.mayBeShared(now)) {
                return grant;
            }
        }
        return null;
    }

    private static boolean mayBeTaken(Grant grant, long now) {
        return grant.isUntouched(now) || grant.mayBeShared(now);
    }

    private static boolean isOverdue(Waiter head, long now) {
        return head.headFor(now) > BARGE_NANOS;
    }

    private Hold give(Grant grant, Request request, @Nullable Thread thread, boolean forThread, long now) {
        Hold hold = grant.share(request, thread, now);
        if (forThread && thread != null) {
            threads.begin(thread, hold);
        }
        return hold;
    }

    private void give(Grant grant, Waiter waiter, long now) {
        queue.remove(waiter);
        waiter.succeed(give(grant, waiter.request(), waiter.thread(), waiter.isForThread(), now));
        headArrives(now);
    }

    /** Whether the request cannot be served now, by what is known here: an attempt needs no trip. */
    boolean isKnownBusy(Request request) {
        long granted = 0;
        for (Grant grant : grants) {
            granted += grant.spec().permits();
        }
        boolean othersFirst = request.isExclusive() && (contender != null || !queue.isEmpty());
        return othersFirst || granted + request.permits() > request.limit();
    }

    private void checkKind(Request request) {
        if (engine.isClosed()) {
            throw engine.closedException(name);
        }
        if (!grants.isEmpty() && grants.get(0).spec().limit() != request.limit()) {
            KindConflictException conflict = new KindConflictException(
                    name, request.limit(), grants.get(0).spec().limit());
            throw new LockConflictException(String.valueOf(conflict.getMessage()), conflict);
        }
    }

    /** Registers a grant that was acquired without a contender, with its first hold. */
    Hold adopt(Grant grant, Request request, @Nullable Thread thread, boolean forThread) {
        add(grant);
        return give(grant, request, thread, forThread, engine.now());
    }

    // ---- waiting ----

    /** Under the mutex: a new waiter takes its place in the local queue. */
    void join(Waiter waiter) {
        if (waiter.request().fair()) {
            Contender own = new Contender(this, waiter.request(), waiter);
            waiter.setOwn(own);
            fairContenders.add(own);
        } else {
            queue.add(waiter);
        }
    }

    /**
     * One pass for a waiter: takes what it can get, drives the contender if that is due, or gives up if it is too late.
     * Without the mutex; does I/O on the calling thread as the store does.
     *
     * @return when the next pass must be made at the latest, unless the waiter is signalled before or is done
     */
    long advance(Waiter waiter) {
        while (true) {
            Runnable step;
            mutex.lock();
            try {
                waiter.awake();
                long now = engine.now();
                if (waiter.isDone() || takeOrFail(waiter, now)) {
                    retireIfUnused();
                    return Long.MAX_VALUE;
                }
                waiter.setTried();
                step = nextStep(waiter, now);
                if (step == null) {
                    return wakeAt(waiter, now);
                }
            } finally {
                mutex.unlock();
            }
            step.run();
        }
    }

    private boolean takeOrFail(Waiter waiter, long now) {
        Request request = waiter.request();
        Grant taken = request.fair() ? null : takeIdle(request, waiter, now);
        if (taken != null) {
            give(taken, waiter, now);
            return true;
        }
        if (engine.isClosed()) {
            waiter.fail(engine.closedException(name));
        } else if (waiter.isTooLate(now)) {
            waiter.giveUp();
        } else {
            Contender mine = waiter.own() != null ? waiter.own() : contender;
            long outage = mine == null ? -1 : mine.outageSince(now);
            if (outage < 0 || now - outage < request.storeTimeout()) {
                return false;
            }
            waiter.fail(unavailable(request, null));
        }
        withdraw(waiter);
        return true;
    }

    private @Nullable Runnable nextStep(Waiter waiter, long now) {
        if (waiter.own() != null) {
            return drive(waiter.own(), now);
        }
        Grant unusable = idle;
        if (unusable != null && !isIdleUsable(now)) {
            drop(unusable);
            return () -> releaseAndWake(unusable.claim());
        }
        if (contender == null && mayContend(now)) {
            Waiter head = queue.element();
            contender = new Contender(this, head.request(), null);
        }
        return contender == null ? null : drive(contender, now);
    }

    private static @Nullable Runnable drive(Contender contender, long now) {
        if (!contender.isDue(now)) {
            return null;
        }
        contender.beginSend(now);
        return contender::send;
    }

    // While a thread of this JVM holds the resource alone for a short time, its hand-off will come sooner than the
    // store
    // could answer. A longer hold ends with a trip anyway, so the place in the store's queue is taken meanwhile.
    private boolean mayContend(long now) {
        Grant held = exclusive();
        return idle == null && (held == null || now - held.heldSince() >= engine.handOffNanos());
    }

    private @Nullable Grant exclusive() {
        for (Grant grant : grants) {
            if (grant.isExclusive()) {
                return grant;
            }
        }
        return null;
    }

    private boolean isIdleUsable(long now) {
        Waiter head = queue.peek();
        return idle != null && head != null && head.request().isServedBy(idle.spec()) && mayBeTaken(idle, now);
    }

    private long wakeAt(Waiter waiter, long now) {
        long at = waiter.deadline();
        Contender mine = waiter.own() != null ? waiter.own() : contender;
        if (mine == contender && queue.peek() != waiter) {
            return at;
        }
        if (mine != null) {
            at = Math.min(at, mine.driveAt());
        } else {
            Grant held = exclusive();
            if (held != null) {
                at = Math.min(at, Math.max(now + 1, held.heldSince() + engine.handOffNanos()));
            }
        }
        return at;
    }

    /**
     * Gives a waiter up, because its thread was interrupted or its future cancelled. What waits in the store for it passes
     * to the next local waiter, or is released in the background.
     *
     * @return false if the waiter was done before; its outcome then stands
     */
    boolean abandon(Waiter waiter) {
        mutex.lock();
        try {
            if (waiter.isDone()) {
                return false;
            }
            waiter.giveUp();
            withdraw(waiter);
            retireIfUnused();
            return true;
        } finally {
            mutex.unlock();
        }
    }

    private void withdraw(Waiter waiter) {
        queue.remove(waiter);
        Contender own = waiter.own();
        if (own != null) {
            cancel(own);
        }
        Waiter head = queue.peek();
        if (contender != null && (head == null || !head.request().isServedBy(contender.spec()))) {
            cancel(contender);
        }
        if (idle != null && head == null) {
            Grant unwanted = idle;
            drop(unwanted);
            engine.releases().sendLater(unwanted.claim());
        }
        wakeHead();
    }

    private void cancel(Contender ended) {
        if (ended.cancel()) {
            engine.releases().sendLater(ended.claim());
        }
        forget(ended);
    }

    private void forget(Contender ended) {
        if (ended == contender) {
            contender = null;
        } else {
            fairContenders.remove(ended);
        }
    }

    /** Signals the head of the queue if it is up to it to make the next step. */
    void wakeHead() {
        Waiter head = queue.peek();
        if (head != null && (idle != null || contender == null || contender.isDue(engine.now()))) {
            head.headFor(engine.now());
            head.signal();
        }
    }

    // ---- what the contender reports; all under the mutex ----

    /** The contender can be sent again, now or at a time that its driver will compute. */
    void wakeDriver(Contender ready) {
        Waiter driver = ready.only() != null ? ready.only() : queue.peek();
        if (driver != null) {
            driver.signal();
        }
    }

    /** The contender was granted, and is over. */
    void admit(Contender winner, Grant grant) {
        forget(winner);
        Waiter heir = winner.only() != null ? winner.only() : queue.peek();
        long now = engine.now();
        if (engine.isClosed()
                || heir == null
                || heir.isDone()
                || !heir.request().isServedBy(grant.spec())) {
            grant.end();
            engine.releases().sendLater(grant.claim());
            wakeHead();
            return;
        }
        add(grant);
        // To the calling thread if it is the heir, who is awake; else whoever comes first may take it.
        if (winner.only() == null && grant.isExclusive() && heir.thread() != Thread.currentThread()) {
            idle = grant;
            heir.headFor(now);
            heir.signal();
            return;
        }
        give(grant, heir, now);
        shareWithReaders(grant, now);
        wakeHead();
    }

    private void shareWithReaders(Grant grant, long now) {
        Waiter next = queue.peek();
        while (grant.spec().isRead()
                && next != null
                && next.request().isServedBy(grant.spec())
                && grant.mayBeShared(now)) {
            give(grant, next, now);
            next = queue.peek();
        }
    }

    /** The store refused for good: nobody who waits behind this contender can be served. */
    void refused(Contender ended, StoreException cause) {
        forget(ended);
        boolean conflict = cause instanceof KindConflictException;
        for (Waiter waiter : waitersBehind(ended)) {
            if (!conflict || waiter.request().limit() == ended.spec().limit()) {
                queue.remove(waiter);
                waiter.fail(
                        conflict
                                ? new LockConflictException(String.valueOf(cause.getMessage()), cause)
                                : unavailable(waiter.request(), cause));
            }
        }
        wakeHead();
    }

    /** The store fails: those who have waited for it long enough give up. */
    void outage(Contender failing, long since, StoreException cause) {
        long now = engine.now();
        for (Waiter waiter : waitersBehind(failing)) {
            if (now - since >= waiter.request().storeTimeout()) {
                waiter.fail(unavailable(waiter.request(), cause));
                withdraw(waiter);
            }
        }
    }

    private List<Waiter> waitersBehind(Contender contender) {
        return contender.only() != null ? List.of(contender.only()) : List.copyOf(queue);
    }

    private LockException unavailable(Request request, @Nullable StoreException cause) {
        return new StoreUnavailableException(
                "Lock \"" + name + "\" could not be acquired by client " + engine.clientId() + ": the "
                        + engine.traits().product() + " store "
                        + (cause == null ? "has not answered" : "failed: " + cause.getMessage())
                        + " (storeTimeout " + request.storeTimeout() / 1_000_000 + " ms). Check that it runs and can be"
                        + " reached",
                cause);
    }

    /** The threads on whose behalf a contender waits. */
    List<Thread> queuedThreads(@Nullable Waiter only) {
        List<Thread> waiting = new ArrayList<>();
        for (Waiter waiter : only != null ? List.of(only) : queue) {
            if (waiter.thread() != null) {
                waiting.add(waiter.thread());
            }
        }
        return waiting;
    }

    // ---- the end of holds and grants ----

    /**
     * Under the mutex: a hold was given up. The grant is passed on, or stays with its other readers, or must go back.
     *
     * @return the grant that the caller must now release at the store, without the mutex; null if there is none
     */
    @Nullable
    Grant end(Hold hold) {
        Grant grant = hold.grant();
        grant.holds().remove(hold);
        if (grant.isOver() || !grant.holds().isEmpty()) {
            return null;
        }
        long now = engine.now();
        Waiter head = queue.peek();
        if (grant.isExclusive() && head != null && head.request().isServedBy(grant.spec()) && grant.mayBeShared(now)) {
            if (isOverdue(head, now)) {
                give(grant, head, now);
            } else {
                idle = grant;
                head.signal();
            }
            return null;
        }
        drop(grant);
        return grant;
    }

    // The next head's time at the head begins, and it must know when to take a place in the store's queue.
    private void headArrives(long now) {
        Waiter head = queue.peek();
        if (head != null) {
            head.headFor(now);
            head.signal();
        }
    }

    /** Without the mutex: sends a release, and lets the next local waiter contend. */
    void releaseAndWake(Claim claim) {
        engine.releases().send(claim);
        transition(this::wakeHead);
    }

    private void add(Grant grant) {
        grants.add(grant);
        engine.hold(grant);
    }

    /** Under the mutex: a grant is over, and is known to nobody any more. */
    void drop(Grant grant) {
        grant.end();
        grants.remove(grant);
        if (idle == grant) {
            idle = null;
        }
        engine.letGo(grant);
    }

    /** A renewal was answered with a later end. */
    void grantRenewed(Grant grant, long counter, Validity validity) {
        transition(() -> {
            if (grant.isOver()) {
                return;
            }
            if (counter != grant.counter()) {
                lose(grant, LossReason.TAKEN);
            } else if (grant.prolong(validity, engine.now())) {
                engine.renewals().wakeBy(grant.renewAt());
            } else {
                lose(grant, grant.expiryReason());
            }
        });
    }

    /** The store says that the grant is gone. */
    void lost(Grant grant, LossReason reason) {
        transition(() -> lose(grant, reason));
    }

    /** The timer's look at a grant: declares what is over lost. */
    void examine(Grant grant) {
        transition(() -> {
            long now = engine.now();
            if (grant.isOver()) {
                return;
            }
            if (now >= grant.validity().deadline()) {
                lose(grant, grant.expiryReason());
                return;
            }
            for (Hold hold : List.copyOf(grant.holds())) {
                if (now >= hold.holdEnds()) {
                    tell(hold, LossReason.EXPIRED);
                    grant.holds().remove(hold);
                }
            }
            if (grant.holds().isEmpty() && idle != grant) {
                drop(grant);
                engine.releases().sendLater(grant.claim());
                wakeHead();
            } else {
                grant.scheduleEvent(now);
            }
        });
    }

    /** Under the mutex: a hold whose time has passed without the timer's notice is declared lost, so that it is told. */
    void noticeLoss(Hold hold) {
        long now = engine.now();
        if (now >= hold.grant().validity().deadline()) {
            lose(hold.grant(), hold.grant().expiryReason());
        } else if (now >= hold.holdEnds()) {
            tell(hold, LossReason.EXPIRED);
        }
    }

    /** Under the mutex: all holds of the grant are lost. What may be left of it in the store is released. */
    void lose(Grant grant, LossReason reason) {
        if (grant.isOver()) {
            return;
        }
        drop(grant);
        for (Hold hold : grant.holds()) {
            tell(hold, reason);
        }
        if (reason != LossReason.TAKEN && reason != LossReason.BROKEN) {
            engine.releases().sendLater(grant.claim());
        }
        wakeHead();
    }

    private void tell(Hold hold, LossReason reason) {
        engine.tellLoss(hold, reason, hold.markLost(reason));
    }

    /** Under the mutex: the engine closes. */
    void close() {
        for (Grant grant : List.copyOf(grants)) {
            lose(grant, LossReason.CLOSED);
        }
        for (Contender fair : List.copyOf(fairContenders)) {
            cancel(fair);
            if (fair.only() != null) {
                fair.only().signal();
            }
        }
        if (contender != null) {
            cancel(contender);
        }
        queue.forEach(Waiter::signal);
    }

    void retireIfUnused() {
        boolean used = !queue.isEmpty()
                || !grants.isEmpty()
                || !threads.isEmpty()
                || contender != null
                || !fairContenders.isEmpty();
        if (!used && !retired) {
            retired = true;
            engine.forget(this);
        }
    }
}
