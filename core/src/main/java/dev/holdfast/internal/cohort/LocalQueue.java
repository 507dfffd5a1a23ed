package dev.holdfast.internal.cohort;

import dev.holdfast.LockConflictException;
import dev.holdfast.LockException;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.hold.Grant;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.StoreException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Those who wait for one name in this JVM, the claim with which the JVM waits in the store on their behalf, and the
 * exclusive grant that is between two of them.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>States of an exclusive grant: held by one hold; or <em>idle</em>, between two local holders. An idle grant is never
 * left alone: the head of the queue has been signalled and will take it, or release it if it may not be passed on any
 * more; a head without a thread is given it at once. A running thread may take it first (barging), unless the head has
 * been at the head for {@link #BARGE_NANOS}; then the grant is handed to the head directly.
 *
 * <p>Invariants, between two uses of the mutex of the lock, which guards all of this:
 *
 * <ul>
 *   <li>idle is null or one of the lock's grants, exclusive, with no hold, and then the queue is not empty;
 *   <li>if the queue is not empty, then somebody will make the next step: a hold of an exclusive grant will end, the head
 *       or the driver was signalled or wakes by time, or the contender's store or the renewals will call;
 *   <li>whoever becomes the head is signalled, because only the head and the driver know when to wake; its time at the head
 *       begins then;
 *   <li>there is a contender only while the queue is not empty and its head is served by it.
 * </ul>
 *
 * <p>A fair waiter, and one that does not wait for its turn, is not in the queue: it has a contender of its own, and is
 * served by no other.
 *
 * <p>Arbitrary: the bounds; that any waiter who is awake may drive the contender, not only the head.
 */
final class LocalQueue {

    /** How long running threads may pass the head of the queue. */
    static final long BARGE_NANOS = 1_000_000;

    private final CohortLock lock;
    private final Engine engine;
    private final ArrayDeque<Waiter> queue = new ArrayDeque<>(4);
    /** Contenders that serve one waiter only. Empty and shared until there is one. */
    private List<RemoteContender> ownContenders = List.of();

    /** How many in the queue have a thread. */
    private int threads;

    private @Nullable RemoteContender contender;
    private @Nullable Grant idle;

    LocalQueue(CohortLock lock) {
        this.lock = lock;
        this.engine = lock.engine();
    }

    boolean isUnused() {
        return queue.isEmpty() && contender == null && ownContenders.isEmpty();
    }

    /** Whether somebody waits before an exclusive request that comes now. */
    boolean isContended() {
        return contender != null || !queue.isEmpty();
    }

    @Nullable
    Waiter head() {
        return queue.peek();
    }

    boolean isEmpty() {
        return queue.isEmpty();
    }

    /** How many wait, with those that have a claim of their own. */
    int size() {
        return queue.size() + ownContenders.size();
    }

    // ---- taking and passing on an idle grant ----

    /** Takes the idle grant, for a waiter or somebody who does not wait; null if there is none, or the head comes first. */
    @Nullable
    Grant takeIdle(LockSpec spec, @Nullable Waiter waiter, long now) {
        Grant grant = idle;
        if (grant == null || !spec.isServedBy(grant.spec()) || !mayBeTaken(grant, now)) {
            return null;
        }
        Waiter head = queue.peek();
        if (head != null
                && head != waiter
                && isOverdue(head, now)
                && head.spec().isServedBy(grant.spec())) {
            return null;
        }
        idle = null;
        return grant;
    }

    /** Passes a grant whose hold has ended to the local queue, if it may; else it must be released. */
    boolean passOn(Grant grant) {
        Waiter head = queue.peek();
        if (head == null || !grant.isExclusive() || !head.spec().isServedBy(grant.spec())) {
            return false;
        }
        long now = engine.now();
        if (!grant.mayBeShared(now)) {
            return false;
        }
        if (isOverdue(head, now)) {
            give(grant, head, now);
        } else {
            idle = grant;
            wakeNewHead(now);
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
        remove(waiter);
        waiter.succeed(lock.share(grant, waiter.spec(), waiter.thread(), waiter.isForThread(), now));
        reviewContender(null);
        wakeNewHead(now);
    }

    // ---- waiting ----

    /** A new waiter takes its place. */
    void join(Waiter waiter) {
        if (waiter.isOnce() || waiter.spec().fair()) {
            RemoteContender own = new RemoteContender(lock, waiter);
            waiter.setOwn(own);
            if (ownContenders.isEmpty()) {
                ownContenders = new ArrayList<>(2);
            }
            ownContenders.add(own);
            return;
        }
        queue.add(waiter);
        threads += waiter.thread() == null ? 0 : 1;
        boolean queues = engine.traits().fifo() && !waiter.spec().spin();
        if (queues && contender != null && contender.mode() == Mode.SPIN) {
            cancel(contender, null);
        }
    }

    /**
     * One pass for a waiter: it takes what it can get, or gives up if it is too late, or says when it is to be woken.
     *
     * @return a step that must be made without the mutex, and after which another pass follows; null if there is none
     */
    @Nullable
    Runnable pass(Waiter waiter) {
        waiter.awake();
        long now = engine.now();
        if (queue.peek() == waiter) {
            // Its time at the head begins now, if it has not begun.
            waiter.headFor(now);
        }
        if (waiter.isDone() || takeOrFail(waiter, now)) {
            return null;
        }
        waiter.setTried();
        Runnable step = nextStep(waiter, now);
        if (step == null) {
            waiter.sleepUntil(wakeAt(waiter, now));
        }
        return step;
    }

    private boolean takeOrFail(Waiter waiter, long now) {
        Grant taken = waiter.own() != null ? null : takeIdle(waiter.spec(), waiter, now);
        if (taken != null) {
            give(taken, waiter, now);
        } else if (engine.isClosed()) {
            withdraw(waiter, now);
            waiter.fail(engine.closedException(lock.name()));
        } else if (waiter.isTooLate(now)) {
            withdraw(waiter, now);
            waiter.giveUp(Outcome.TIMED_OUT);
        } else {
            RemoteContender mine = contenderOf(waiter);
            if (mine == null || now < mine.outageEnds(waiter.spec().storeTimeout())) {
                return false;
            }
            StoreException cause = mine.outage();
            withdraw(waiter, now);
            waiter.fail(unavailable(waiter.spec(), cause));
        }
        return true;
    }

    private @Nullable Runnable nextStep(Waiter waiter, long now) {
        RemoteContender own = waiter.own();
        if (own != null) {
            return drive(own, now);
        }
        Grant unusable = idle;
        if (unusable != null && !isUsable(unusable, now)) {
            unusable.end();
            return () -> {
                engine.releases().send(unusable.claimToRelease());
                lock.released();
            };
        }
        if (contender == null && mayContend(now)) {
            contender = new RemoteContender(lock, queue.element().spec(), sharedMode());
        }
        return contender == null ? null : drive(contender, now);
    }

    // One who does not spin has a place in the store's queue, also if others here spin: else clients that queue would
    // pass it for ever. What spins is served by that place, too.
    private Mode sharedMode() {
        if (engine.traits().fifo()) {
            for (Waiter waiter : queue) {
                if (!waiter.spec().spin()) {
                    return Mode.QUEUE;
                }
            }
        }
        return Mode.SPIN;
    }

    private static @Nullable Runnable drive(RemoteContender contender, long now) {
        if (!contender.isDue(now)) {
            return null;
        }
        contender.beginSend(now);
        return contender::send;
    }

    // While a thread of this JVM holds the name alone for a short time, its hand-off will come sooner than the store
    // could answer. A longer hold ends with a trip anyway, so the place in the store's queue is taken meanwhile.
    private boolean mayContend(long now) {
        Grant held = lock.exclusive();
        return idle == null && (held == null || now - held.heldSince() >= engine.handOffNanos());
    }

    private boolean isUsable(Grant grant, long now) {
        Waiter head = queue.peek();
        return head != null && head.spec().isServedBy(grant.spec()) && mayBeTaken(grant, now);
    }

    private @Nullable RemoteContender contenderOf(Waiter waiter) {
        return waiter.own() != null ? waiter.own() : contender;
    }

    private long wakeAt(Waiter waiter, long now) {
        // Everybody looks around once in a storeTimeout: the store may be silent, and the head may bear with it longer.
        long storeTimeout = waiter.spec().storeTimeout();
        long at = Math.min(waiter.deadline(), Nanos.after(now, storeTimeout));
        if (waiter.own() == null && queue.peek() != waiter && (waiter.thread() == null || driver() != waiter)) {
            return at;
        }
        RemoteContender mine = contenderOf(waiter);
        if (mine != null) {
            return Math.min(at, Math.min(mine.driveAt(), mine.outageEnds(storeTimeout)));
        }
        Grant held = lock.exclusive();
        if (held != null) {
            at = Math.min(at, Math.max(now + 1, Nanos.after(held.heldSince(), engine.handOffNanos())));
        }
        return at;
    }

    /** A waiter is given up from outside. Returns false if it was done before. */
    boolean abandon(Waiter waiter, Outcome outcome) {
        if (waiter.isDone()) {
            return false;
        }
        withdraw(waiter, engine.now());
        waiter.giveUp(outcome);
        return true;
    }

    // Takes a waiter out. What waits in the store for it passes to the next local waiter, or is released.
    private void withdraw(Waiter waiter, long now) {
        remove(waiter);
        RemoteContender own = waiter.own();
        if (own != null) {
            cancel(own, waiter);
        }
        reviewContender(waiter);
        if (idle != null && queue.isEmpty()) {
            waiter.setLeaving(idle.giveBack());
        }
        wakeNewHead(now);
    }

    private void remove(Waiter waiter) {
        if (queue.remove(waiter) && waiter.thread() != null) {
            threads--;
        }
    }

    // A place in the store that nobody here wants, or that is of the wrong kind for the head, is given back.
    private void reviewContender(@Nullable Waiter last) {
        Waiter head = queue.peek();
        if (contender != null && (head == null || !head.spec().isServedBy(contender.spec()))) {
            cancel(contender, last);
        }
    }

    private void cancel(RemoteContender ended, @Nullable Waiter last) {
        var leaving = ended.cancel();
        if (leaving != null && last != null) {
            last.setLeaving(leaving);
        }
        forget(ended);
    }

    private void forget(RemoteContender ended) {
        if (ended == contender) {
            contender = null;
        } else if (!ownContenders.isEmpty()) {
            ownContenders.remove(ended);
        }
    }

    // Its time at the head begins. A head without a thread is given what is idle, since its next pass may be far away.
    private void wakeNewHead(long now) {
        Waiter head = queue.peek();
        if (head == null) {
            return;
        }
        head.headFor(now);
        Grant grant = head.thread() == null ? takeIdle(head.spec(), head, now) : null;
        if (grant != null) {
            give(grant, head, now);
        } else {
            head.signal();
            if (head.thread() == null) {
                signalDriver();
            }
        }
    }

    private void signalDriver() {
        Waiter driver = driver();
        if (driver != null) {
            driver.signal();
        }
    }

    /**
     * Who wakes in time to drive the shared contender: the first who has a thread, since those without one depend on threads
     * that may have much to do; the head if nobody has one. Those without a thread before it are walked through.
     */
    private @Nullable Waiter driver() {
        Waiter head = queue.peek();
        if (head == null || head.thread() != null || threads == 0) {
            return head;
        }
        for (Waiter waiter : queue) {
            if (waiter.thread() != null) {
                return waiter;
            }
        }
        return head;
    }

    /** Signals the head if it is up to it to make the next step. */
    void wakeHead(long now) {
        if (idle != null || contender == null || contender.isDue(now)) {
            wakeNewHead(now);
        }
    }

    /** A claim of this client has left the store: what spins here need not wait any longer. */
    void released() {
        if (contender != null) {
            contender.hinted();
        }
        ownContenders.forEach(RemoteContender::hinted);
        wakeHead(engine.now());
    }

    // ---- what a contender reports ----

    /** The contender can be sent again, now or at a time that its driver will compute. */
    void wakeDriver(RemoteContender ready) {
        if (ready.only() != null) {
            ready.only().signal();
        } else {
            signalDriver();
        }
    }

    /** The contender was granted, and is over. */
    void admit(RemoteContender winner, Grant grant, long now) {
        forget(winner);
        Waiter next = winner.only() != null ? winner.only() : queue.peek();
        if (engine.isClosed() || next == null || next.isDone() || !next.spec().isServedBy(grant.spec())) {
            engine.releases().sendLater(grant.claim()).thenRun(lock::released);
            wakeHead(now);
            return;
        }
        lock.add(grant, now);
        // To the calling thread if that is the next waiter, since it is awake; else whoever comes first may take it.
        if (winner.only() == null && grant.isExclusive() && next.thread() != Thread.currentThread()) {
            idle = grant;
            wakeNewHead(now);
            return;
        }
        give(grant, next, now);
        shareWithReaders(grant, now);
        wakeHead(now);
    }

    private void shareWithReaders(Grant grant, long now) {
        Waiter next = queue.peek();
        while (grant.spec().isRead()
                && next != null
                && next.spec().isServedBy(grant.spec())
                && grant.mayBeShared(now)) {
            give(grant, next, now);
            next = queue.peek();
        }
    }

    /** The contender of a waiter that does not wait was not granted. */
    void busy(RemoteContender ended) {
        forget(ended);
        Waiter waiter = ended.only();
        if (waiter != null && !waiter.isDone()) {
            waiter.giveUp(Outcome.BUSY);
        }
    }

    /** The store refused for good: nobody who waits behind this contender can be served. */
    void refused(RemoteContender ended, StoreException cause) {
        forget(ended);
        boolean conflict = cause instanceof KindConflictException;
        long now = engine.now();
        for (Waiter waiter : waitersBehind(ended)) {
            boolean concerned =
                    !conflict || waiter.spec().limit() == ended.spec().limit();
            // One before it that gives up may have left it a grant.
            if (concerned && !waiter.isDone()) {
                withdraw(waiter, now);
                waiter.fail(
                        conflict
                                ? new LockConflictException(String.valueOf(cause.getMessage()), cause)
                                : unavailable(waiter.spec(), cause));
            }
        }
        wakeHead(now);
    }

    /** The store fails: those give up who will have waited for it long enough before the next attempt, after a pause. */
    void outage(RemoteContender failing, StoreException cause, long pause) {
        long now = engine.now();
        for (Waiter waiter : waitersBehind(failing)) {
            if (!waiter.isDone()
                    && now + pause >= failing.outageEnds(waiter.spec().storeTimeout())) {
                withdraw(waiter, now);
                waiter.fail(unavailable(waiter.spec(), cause));
            }
        }
    }

    private List<Waiter> waitersBehind(RemoteContender contender) {
        return contender.only() != null ? List.of(contender.only()) : List.copyOf(queue);
    }

    private LockException unavailable(LockSpec spec, @Nullable StoreException cause) {
        boolean refused = cause != null && !cause.retryable();
        String why = cause == null ? "has not answered" : (refused ? "refused it: " : "failed: ") + cause.getMessage();
        // The time was not waited for, and nothing is wrong with a store that refuses; its message says what is.
        String remedy = refused
                ? ""
                : " (storeTimeout " + spec.storeTimeout() / 1_000_000 + " ms). Check that it runs and can be reached";
        return new StoreUnavailableException(
                "Lock \"" + lock.name() + "\" could not be acquired by client " + engine.clientId() + ": the "
                        + engine.traits().product() + " store " + why + remedy,
                cause);
    }

    /** What people see as the owner of a contender's claim: the first who waits, and what all of them hold already. */
    OwnerInfo ownerOf(RemoteContender contender) {
        Thread first = null;
        List<String> held = new ArrayList<>(0);
        for (Waiter waiter : waitersBehind(contender)) {
            first = first == null ? waiter.thread() : first;
            held.addAll(waiter.held());
            if (held.size() >= OwnerInfo.MAX_HELD) {
                break;
            }
        }
        return engine.owner(contender.spec(), first, held);
    }

    /** The engine closes: everybody is woken, and finds that out. */
    void close() {
        for (RemoteContender own : List.copyOf(ownContenders)) {
            cancel(own, null);
            if (own.only() != null) {
                own.only().signal();
            }
        }
        if (contender != null) {
            cancel(contender, null);
        }
        queue.forEach(Waiter::signal);
    }
}
