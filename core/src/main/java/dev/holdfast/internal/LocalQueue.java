package dev.holdfast.internal;

import dev.holdfast.LockConflictException;
import dev.holdfast.LockException;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.StoreException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Those who wait for one resource in this JVM, the one claim with which the JVM waits in the store on their behalf, and
 * the exclusive grant that is between two of them.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>States of an exclusive grant: held by one hold; or <em>idle</em>, between two local holders. An idle grant is never
 * left alone: the head of the queue has been signalled and will take it, or release it if it may not be passed on any
 * more. A running thread may take it first (barging), unless the head has been at the head for {@link #BARGE_NANOS}; then
 * the grant is handed to the head directly.
 *
 * <p>Invariants, between two uses of the resource's mutex, which guards all of this:
 *
 * <ul>
 *   <li>idle is null or one of the resource's grants, exclusive, with no hold, and then the queue is not empty;
 *   <li>if the queue is not empty, then somebody will make the next step: a hold of an exclusive grant will end, the head
 *       was signalled or wakes by time, or the contender's store or the renewals will call;
 *   <li>whoever becomes the head is signalled, because only the head knows when to wake;
 *   <li>there is a contender only while the queue is not empty and its head is served by it.
 * </ul>
 *
 * <p>A fair waiter is not in the queue: it has a contender of its own, and is served by no other.
 *
 * <p>Arbitrary: the bounds; that any waiter who is awake may drive the contender, not only the head.
 */
final class LocalQueue {

    /** How long running threads may pass the head of the queue. */
    static final long BARGE_NANOS = 1_000_000;

    private final Resource resource;
    private final Engine engine;
    private final ArrayDeque<Waiter> queue = new ArrayDeque<>(4);
    /** Empty and shared until a fair waiter comes. */
    private List<Contender> fairContenders = List.of();

    private @Nullable Contender contender;
    private @Nullable Grant idle;

    LocalQueue(Resource resource) {
        this.resource = resource;
        this.engine = resource.engine();
    }

    boolean isUnused() {
        return queue.isEmpty() && contender == null && fairContenders.isEmpty();
    }

    /** Whether somebody waits before an exclusive request that comes now. */
    boolean isContended() {
        return contender != null || !queue.isEmpty();
    }

    boolean isEmpty() {
        return queue.isEmpty();
    }

    // ---- taking and passing on an idle grant ----

    /** Takes the idle grant for a request that has no place in the queue; null if there is none, or the head comes first. */
    @Nullable
    Grant takeIdle(Request request, @Nullable Waiter waiter, long now) {
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

    /** Passes a grant whose hold has ended to the local queue, if it may; else the caller must release it. */
    boolean passOn(Grant grant, long now) {
        Waiter head = queue.peek();
        if (head == null
                || !grant.isExclusive()
                || !head.request().isServedBy(grant.spec())
                || !grant.mayBeShared(now)) {
            return false;
        }
        if (isOverdue(head, now)) {
            give(grant, head, now);
        } else {
            idle = grant;
            head.signal();
        }
        return true;
    }

    void forgetIdle(Grant grant) {
        if (idle == grant) {
            idle = null;
        }
    }

    boolean isIdle(Grant grant) {
        return idle == grant;
    }

    private static boolean mayBeTaken(Grant grant, long now) {
        return grant.isUntouched(now) || grant.mayBeShared(now);
    }

    private static boolean isOverdue(Waiter head, long now) {
        return head.headFor(now) > BARGE_NANOS;
    }

    private void give(Grant grant, Waiter waiter, long now) {
        queue.remove(waiter);
        waiter.succeed(resource.share(grant, waiter.request(), waiter.thread(), waiter.isForThread(), now));
        reviewContender();
        wakeNewHead(now);
    }

    // ---- waiting ----

    /** A new waiter takes its place. */
    void join(Waiter waiter) {
        if (waiter.request().fair()) {
            Contender own = new Contender(resource, waiter.request(), waiter);
            waiter.setOwn(own);
            if (fairContenders.isEmpty()) {
                fairContenders = new ArrayList<>(2);
            }
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
            resource.mutex().lock();
            try {
                waiter.awake();
                long now = engine.now();
                if (waiter.isDone() || takeOrFail(waiter, now)) {
                    resource.retireIfUnused();
                    return Long.MAX_VALUE;
                }
                waiter.setTried();
                step = nextStep(waiter, now);
                if (step == null) {
                    return wakeAt(waiter, now);
                }
            } finally {
                resource.mutex().unlock();
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
            waiter.fail(engine.closedException(resource.name()));
        } else if (waiter.isTooLate(now)) {
            waiter.giveUp();
        } else {
            Contender mine = contenderOf(waiter);
            if (mine == null || now < mine.troubleEnds(request.storeTimeout())) {
                return false;
            }
            waiter.fail(unavailable(request, mine.trouble()));
        }
        withdraw(waiter, now);
        return true;
    }

    private @Nullable Runnable nextStep(Waiter waiter, long now) {
        Contender own = waiter.own();
        if (own != null) {
            return drive(own, now);
        }
        Grant unusable = idle;
        if (unusable != null && !isIdleUsable(now)) {
            resource.drop(unusable);
            return () -> resource.releaseAndWake(unusable.claimToRelease());
        }
        if (contender == null && mayContend(now)) {
            contender = new Contender(resource, queue.element().request(), null);
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
    // store could answer. A longer hold ends with a trip anyway, so the place in the store's queue is taken
    // meanwhile.
    private boolean mayContend(long now) {
        Grant held = resource.exclusive();
        return idle == null && (held == null || now - held.heldSince() >= engine.handOffNanos());
    }

    private boolean isIdleUsable(long now) {
        Waiter head = queue.peek();
        return idle != null && head != null && head.request().isServedBy(idle.spec()) && mayBeTaken(idle, now);
    }

    private @Nullable Contender contenderOf(Waiter waiter) {
        return waiter.own() != null ? waiter.own() : contender;
    }

    private long wakeAt(Waiter waiter, long now) {
        // Everybody looks around once in a storeTimeout, in case that the store is silent and the head does not mind
        // yet.
        long storeTimeout = waiter.request().storeTimeout();
        long at = Math.min(waiter.deadline(), Times.after(now, storeTimeout));
        if (waiter.own() == null && queue.peek() != waiter) {
            return at;
        }
        Contender mine = contenderOf(waiter);
        if (mine != null) {
            return Math.min(at, Math.min(mine.driveAt(), mine.troubleEnds(storeTimeout)));
        }
        Grant held = resource.exclusive();
        if (held != null) {
            at = Math.min(at, Math.max(now + 1, Times.after(held.heldSince(), engine.handOffNanos())));
        }
        return at;
    }

    /** Takes a waiter out. What waits in the store for it passes to the next local waiter, or is released. */
    void withdraw(Waiter waiter, long now) {
        queue.remove(waiter);
        Contender own = waiter.own();
        if (own != null) {
            cancel(own);
        }
        reviewContender();
        if (idle != null && queue.isEmpty()) {
            Grant unwanted = idle;
            resource.drop(unwanted);
            engine.releases().sendLater(unwanted.claimToRelease());
        }
        wakeNewHead(now);
    }

    // A place in the store that nobody here wants, or that is of the wrong kind for the head, is given back.
    private void reviewContender() {
        Waiter head = queue.peek();
        if (contender != null && (head == null || !head.request().isServedBy(contender.spec()))) {
            cancel(contender);
        }
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
        } else if (!fairContenders.isEmpty()) {
            fairContenders.remove(ended);
        }
    }

    // Its time at the head begins, and only the head knows when to wake for the contender.
    private void wakeNewHead(long now) {
        Waiter head = queue.peek();
        if (head != null) {
            head.headFor(now);
            head.signal();
        }
    }

    /** Signals the head if it is up to it to make the next step. */
    void wakeHead(long now) {
        if (idle != null || contender == null || contender.isDue(now)) {
            wakeNewHead(now);
        }
    }

    // ---- what a contender reports ----

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
            wakeHead(now);
            return;
        }
        resource.add(grant);
        // To the calling thread if it is the heir, who is awake; else whoever comes first may take it.
        if (winner.only() == null && grant.isExclusive() && heir.thread() != Thread.currentThread()) {
            idle = grant;
            wakeNewHead(now);
            return;
        }
        give(grant, heir, now);
        shareWithReaders(grant, now);
        wakeHead(now);
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
        wakeHead(engine.now());
    }

    /** The store fails: those who have waited for it long enough give up. */
    void outage(Contender failing, StoreException cause) {
        long now = engine.now();
        for (Waiter waiter : waitersBehind(failing)) {
            if (now >= failing.troubleEnds(waiter.request().storeTimeout())) {
                waiter.fail(unavailable(waiter.request(), cause));
                withdraw(waiter, now);
            }
        }
    }

    private List<Waiter> waitersBehind(Contender contender) {
        return contender.only() != null ? List.of(contender.only()) : List.copyOf(queue);
    }

    private LockException unavailable(Request request, @Nullable StoreException cause) {
        return new StoreUnavailableException(
                "Lock \"" + resource.name() + "\" could not be acquired by client " + engine.clientId() + ": the "
                        + engine.traits().product() + " store "
                        + (cause == null ? "has not answered" : "failed: " + cause.getMessage())
                        + " (storeTimeout " + request.storeTimeout() / 1_000_000 + " ms). Check that it runs and can be"
                        + " reached",
                cause);
    }

    /** The threads on whose behalf a contender waits. */
    List<Thread> threadsBehind(Contender contender) {
        List<Thread> waiting = new ArrayList<>();
        for (Waiter waiter : waitersBehind(contender)) {
            if (waiter.thread() != null) {
                waiting.add(waiter.thread());
            }
        }
        return waiting;
    }

    /** The engine closes: everybody is woken, and finds that out. */
    void close() {
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
}
