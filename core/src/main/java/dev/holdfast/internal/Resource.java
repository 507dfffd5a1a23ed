package dev.holdfast.internal;

import dev.holdfast.LockConflictException;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One name in use by this JVM: the grants that it has of it, the holds that share them, and the queue of those who wait.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>This is a cohort lock (Dice, Marathe, Shavit: Lock Cohorting, PPoPP 2012): local threads queue here, the first of
 * them contends in the store on behalf of all, and an exclusive grant is passed from thread to thread without a trip, at
 * most 1,023 times and 10 ms, before it goes back to the store so that other processes get their turn. {@link LocalQueue}
 * has the waiting half of it.
 *
 * <p>Invariants, between two uses of the mutex:
 *
 * <ul>
 *   <li>a grant is in {@code grants} from its admission until it is released or lost, and nowhere after;
 *   <li>a retired resource is empty and out of the engine's map, and nobody enters it again.
 * </ul>
 *
 * <p>The mutex is held for short, never during I/O or user code. Order of locks: this mutex, then the timer's; never two
 * resources' at once; a store holds none of its own when it calls a listener.
 */
final class Resource {

    private final Engine engine;
    private final LockName name;
    private final ReentrantLock mutex = new ReentrantLock();
    private final List<Grant> grants = new ArrayList<>(2);
    private final ThreadHolds threads = new ThreadHolds();
    private final LocalQueue queue;
    private boolean retired;

    Resource(Engine engine, LockName name) {
        this.engine = engine;
        this.name = name;
        this.queue = new LocalQueue(this);
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

    LocalQueue queue() {
        return queue;
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
        Grant found = request.isExclusive() ? queue.takeIdle(request, null, now) : joinable(request, now);
        return found == null ? null : share(found, request, thread, forThread, now);
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

    /** Gives a share of a grant to a new holder. */
    Hold share(Grant grant, Request request, @Nullable Thread thread, boolean forThread, long now) {
        Hold hold = grant.share(request, thread, now);
        if (forThread && thread != null) {
            threads.begin(thread, hold);
        }
        return hold;
    }

    /** Whether the request cannot be served now, by what is known here: an attempt needs no trip. */
    boolean isKnownBusy(Request request) {
        checkKind(request);
        long granted = 0;
        for (Grant grant : grants) {
            granted += grant.spec().permits();
        }
        return (request.isExclusive() && queue.isContended()) || granted + request.permits() > request.limit();
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

    /** The grant that shuts everybody else out; null if there is none. */
    @Nullable
    Grant exclusive() {
        for (Grant grant : grants) {
            if (grant.isExclusive()) {
                return grant;
            }
        }
        return null;
    }

    /** Gives a waiter up. Returns false if it was done before; its outcome then stands. */
    boolean abandon(Waiter waiter) {
        mutex.lock();
        try {
            if (waiter.isDone()) {
                return false;
            }
            waiter.giveUp();
            queue.withdraw(waiter, engine.now());
            retireIfUnused();
            return true;
        } finally {
            mutex.unlock();
        }
    }

    // ---- the life of a grant; under the mutex unless it says otherwise ----

    /** A grant begins that was acquired without a contender, with its first hold. */
    Hold adopt(Grant grant, Request request, @Nullable Thread thread, boolean forThread) {
        add(grant);
        return share(grant, request, thread, forThread, engine.now());
    }

    void add(Grant grant) {
        grants.add(grant);
        engine.hold(grant);
    }

    /** A grant is over, and is known to nobody any more. */
    void drop(Grant grant) {
        grant.end();
        grants.remove(grant);
        queue.forgetIdle(grant);
        engine.letGo(grant);
    }

    /**
     * A hold was given up. The grant is passed on, or stays with its other readers, or must go back.
     *
     * @return the grant that the caller must now release at the store, without the mutex; null if there is none
     */
    @Nullable
    Grant end(Hold hold) {
        Grant grant = hold.grant();
        grant.holds().remove(hold);
        if (grant.isOver() || !grant.holds().isEmpty() || queue.passOn(grant, engine.now())) {
            return null;
        }
        drop(grant);
        return grant;
    }

    /** Without the mutex: sends a release, and lets the next local waiter contend. */
    void releaseAndWake(Claim claim) {
        engine.releases().send(claim);
        transition(this::wakeHead);
    }

    void wakeHead() {
        queue.wakeHead(engine.now());
    }

    /** Without the mutex: a renewal was answered with a later end. */
    void grantRenewed(Grant grant, long counter, Validity validity) {
        transition(() -> {
            if (grant.isOver()) {
                return;
            }
            if (counter != grant.counter()) {
                loseToAnother(grant);
            } else if (grant.prolong(validity, engine.now())) {
                engine.renewals().wakeBy(grant.renewAt());
            } else {
                lose(grant, grant.expiryReason());
            }
        });
    }

    /** Without the mutex: the store says that the grant is gone. */
    void lost(Grant grant, LossReason reason) {
        transition(() -> lose(grant, reason));
    }

    /** Without the mutex: the store shows that what the claim has there now is not the grant that it had. */
    void lostToAnother(Grant grant) {
        transition(() -> loseToAnother(grant));
    }

    private void loseToAnother(Grant grant) {
        if (!grant.isOver()) {
            lose(grant, LossReason.TAKEN);
            engine.releases().sendLater(grant.claimToRelease());
        }
    }

    /** Without the mutex: this client broke a claim, perhaps one of its own. */
    void brokenHere(ClaimId id) {
        transition(() -> {
            for (Grant grant : List.copyOf(grants)) {
                if (grant.claim().id().equals(id)) {
                    lose(grant, LossReason.BROKEN);
                }
            }
        });
    }

    /** Without the mutex: the timer's look at a grant; declares what is over lost. */
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
            if (grant.holds().isEmpty() && !queue.isIdle(grant)) {
                drop(grant);
                engine.releases().sendLater(grant.claimToRelease());
                wakeHead();
            } else {
                grant.scheduleEvent(now);
            }
        });
    }

    /** A hold whose time has passed without the timer's notice is declared lost, so that its listeners are told. */
    void noticeLoss(Hold hold) {
        long now = engine.now();
        if (now >= hold.grant().validity().deadline()) {
            lose(hold.grant(), hold.grant().expiryReason());
        } else if (now >= hold.holdEnds()) {
            tell(hold, LossReason.EXPIRED);
        }
    }

    /** All holds of the grant are lost. What may be left of it in the store is released. */
    void lose(Grant grant, LossReason reason) {
        if (grant.isOver()) {
            return;
        }
        drop(grant);
        for (Hold hold : List.copyOf(grant.holds())) {
            tell(hold, reason);
        }
        if (reason != LossReason.TAKEN && reason != LossReason.BROKEN) {
            engine.releases().sendLater(grant.claimToRelease());
        }
        wakeHead();
    }

    private void tell(Hold hold, LossReason reason) {
        if (hold.isOpen()) {
            engine.tellLoss(hold, reason, hold.markLost(reason));
        }
    }

    /** Under the mutex: the engine closes. */
    void close() {
        for (Grant grant : List.copyOf(grants)) {
            lose(grant, LossReason.CLOSED);
        }
        queue.close();
    }

    /** Under the mutex. */
    void retireIfUnused() {
        if (!retired && grants.isEmpty() && threads.isEmpty() && queue.isUnused()) {
            retired = true;
            engine.forget(this);
        }
    }
}
