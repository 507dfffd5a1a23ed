package dev.holdfast.internal.cohort;

import dev.holdfast.LockException;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.LossReason;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.hold.Grant;
import dev.holdfast.internal.hold.GrantHome;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.HoldEnd;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.hold.Validity;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreTraits.Liveness;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One name in use by this JVM: the grants that it has of it, the threads that hold it, and the queue of those who wait.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>Invariants, between two uses of the mutex:
 *
 * <ul>
 *   <li>a grant is in {@code grants} from its admission until it is released or lost, and nowhere after;
 *   <li>the grants fit into the limit, but for those of which the store has ended some, and is being asked which. One with a
 *       fixed lease is not asked for, since that would prolong it: its holder learns of its end as it releases it;
 *   <li>a retired lock is empty and out of the table, and nobody enters it again.
 * </ul>
 *
 * <p>The mutex is held for short, never during I/O or code of users: what calls users is collected in {@code events}, and
 * handed over when the mutex is let go. Order of locks: this mutex, then that of an agenda; never two locks' at once; a
 * store holds none of its own when it calls a listener.
 */
public final class CohortLock implements GrantHome {

    private static final List<Runnable> NO_EVENTS = List.of();
    private static final List<Thread> NOBODY = List.of();

    private final Engine engine;
    private final LockName name;
    private final ReentrantLock mutex = new ReentrantLock();
    private final List<Grant> grants = new ArrayList<>(2);
    private final ReentrantHolds threads;
    private final LocalQueue queue;
    private List<Runnable> events = NO_EVENTS;
    private List<Thread> sleepers = NOBODY;
    private volatile boolean retired;

    CohortLock(Engine engine, LockName name) {
        this.engine = engine;
        this.name = name;
        this.threads = new ReentrantHolds(name);
        this.queue = new LocalQueue(this);
    }

    @Override
    public Engine engine() {
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

    LocalQueue queue() {
        return queue;
    }

    // ---- the mutex ----

    @Override
    public void change(Runnable change) {
        mutex.lock();
        try {
            change.run();
        } finally {
            leave();
        }
    }

    @Override
    public <T extends @Nullable Object> T locked(Supplier<T> change) {
        mutex.lock();
        try {
            return change.get();
        } finally {
            leave();
        }
    }

    /** Lets the mutex go, retires the lock if it has become unused, and hands over the collected events. */
    public void leave() {
        List<Runnable> collected = NO_EVENTS;
        List<Thread> woken = NOBODY;
        if ((grants.isEmpty() || events != NO_EVENTS || sleepers != NOBODY) && mutex.getHoldCount() == 1) {
            retireIfUnused();
            collected = events;
            events = NO_EVENTS;
            woken = sleepers;
            sleepers = NOBODY;
        }
        mutex.unlock();
        if (woken != NOBODY) {
            woken.forEach(LockSupport::unpark); // before the events, which may throw or take their time
        }
        if (collected != NO_EVENTS) {
            collected.forEach(Runnable::run);
        }
    }

    @Override
    public void afterwards(Runnable event) {
        if (events == NO_EVENTS) {
            events = new ArrayList<>(2);
        }
        events.add(event);
    }

    /** Under the mutex: wakes a thread when the mutex is let go. Earlier, it would often wake only to sleep again for the mutex. */
    public void wake(Thread sleeper) {
        assert mutex.isHeldByCurrentThread() : "nobody would wake it";
        if (sleepers == NOBODY) {
            sleepers = new ArrayList<>(2);
        }
        sleepers.add(sleeper);
    }

    private void retireIfUnused() {
        if (!retired && grants.isEmpty() && threads.isEmpty() && queue.isUnused()) {
            retired = true;
            engine.locks().forget(this);
        }
    }

    // ---- taking what is here already; under the mutex ----

    /** Whether the thread, if there is one, holds the name through {@code lock()}. */
    public boolean isLockedBy(@Nullable Thread thread) {
        return thread != null && threads.of(thread) != null;
    }

    /**
     * Takes the lock without a trip: once more, if the thread has locked it, or a share of a grant that is in this JVM
     * already. Null if that cannot be.
     *
     * @param thread who asks; null for nobody
     * @param forThread whether it asks through {@code lock()}, and not for a lease
     * @param wouldWait whether it would wait for what it cannot have; if not, it just does not get it
     */
    public @Nullable Hold takeHere(LockSpec spec, @Nullable Thread thread, boolean forThread, boolean wouldWait) {
        ReentrantHolds.Counts counts = thread == null ? null : threads.of(thread);
        if (counts == null) {
            return takeLocal(spec, thread, forThread);
        }
        if (!mayTakeAgain(spec, thread, forThread, wouldWait)) {
            return null;
        }
        counts.add(spec, 1);
        return counts.hold();
    }

    /**
     * Whether the thread, if it has locked the name, can have it once more; true if it has not. Parameters as for {@link
     * #takeHere}.
     *
     * @throws LockException if it would wait for itself, or has lost the lock
     */
    public boolean mayTakeAgain(LockSpec spec, @Nullable Thread thread, boolean forThread, boolean wouldWait) {
        ReentrantHolds.Counts counts = thread == null ? null : threads.of(thread);
        if (thread == null || counts == null) {
            return true;
        }
        if (forThread) {
            return threads.mayReenter(thread, counts, spec, wouldWait);
        }
        if (wouldWait) {
            throw new LockException("Thread " + thread.getName() + " holds \"" + name
                    + "\" through lock() and asked for a lease of it: it would wait for itself. Unlock first, or use lock()"
                    + " again");
        }
        return false;
    }

    private @Nullable Hold takeLocal(LockSpec spec, @Nullable Thread thread, boolean forThread) {
        requireSameKind(spec);
        if (spec.fair() || grants.isEmpty()) {
            return null;
        }
        long now = engine.now();
        Grant found = spec.isExclusive() ? queue.takeIdle(spec, null, now) : joinable(spec, now);
        return found == null ? null : share(found, spec, thread, forThread, now);
    }

    private @Nullable Grant joinable(LockSpec spec, long now) {
        if (!spec.isRead() || !queue.isEmpty()) {
            return null;
        }
        for (Grant grant : grants) {
            if (spec.isServedBy(grant.spec()) && grant.mayBeShared(now)) {
                return grant;
            }
        }
        return null;
    }

    /** Gives a share of a grant to a new holder. */
    Hold share(Grant grant, LockSpec spec, @Nullable Thread thread, boolean forThread, long now) {
        Hold hold = grant.share(spec, thread, forThread, now);
        if (forThread && thread != null) {
            threads.begin(thread, hold);
        }
        return hold;
    }

    /** Whether the lock cannot be had now by what is known here, so that an attempt needs no trip. */
    public boolean isKnownBusy(LockSpec spec, @Nullable Thread thread) {
        requireSameKind(spec);
        return isLockedBy(thread)
                || (spec.isExclusive() && queue.isContended())
                || granted() + spec.permits() > spec.limit();
    }

    private long granted() {
        long granted = 0;
        for (Grant grant : grants) {
            granted += grant.spec().permits();
        }
        return granted;
    }

    private void requireSameKind(LockSpec spec) {
        if (engine.isClosed()) {
            throw engine.closedException(name);
        }
        if (!grants.isEmpty()) {
            spec.requireLimit(grants.get(0).spec().limit());
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

    // ---- waiting ----

    /** Under the mutex: a new waiter takes its place. */
    public void join(Waiter waiter) {
        queue.join(waiter);
    }

    /** See {@link LocalQueue#pass}. */
    public @Nullable Runnable pass(Waiter waiter) {
        return queue.pass(waiter);
    }

    /**
     * Without the mutex: makes passes for a waiter until it is done, or knows until when to sleep. Does I/O on the calling
     * thread as the store does.
     */
    public void advance(Waiter waiter) {
        while (!waiter.isDone()) {
            Runnable step = this.<@Nullable Runnable>locked(() -> queue.pass(waiter));
            if (step == null) {
                return;
            }
            step.run();
        }
    }

    /** Without the mutex: gives a waiter up. Returns false if it was done before; its outcome then stands. */
    public boolean abandon(Waiter waiter, Outcome outcome) {
        return !waiter.isDone() && locked(() -> queue.abandon(waiter, outcome));
    }

    // ---- the holds of threads ----

    /** Under the mutex: the hold of a thread, if it has one for such a lock; null if not. */
    public @Nullable Hold holdOf(Thread thread, LockSpec spec) {
        ReentrantHolds.Counts counts = threads.of(thread);
        return counts == null || counts.hold().spec().limit() != spec.limit() || counts.of(spec) == 0
                ? null
                : counts.hold();
    }

    /** Under the mutex: how many threads and futures of this client wait. */
    public int waiting() {
        return queue.size();
    }

    /** A claim of this client as it was seen in the store, with the owner that it has now: a local hand-off sends nothing. */
    Claim withPresentOwner(Claim seen) {
        return locked(() -> {
            for (Grant grant : grants) {
                if (grant.claim().id().equals(seen.id())) {
                    return seen.withOwner(grant.owner());
                }
            }
            return seen;
        });
    }

    /** Under the mutex: how often a thread holds such a lock. */
    public int holdCount(Thread thread, LockSpec spec) {
        ReentrantHolds.Counts counts = threads.of(thread);
        return counts == null || counts.hold().spec().limit() != spec.limit() ? 0 : counts.of(spec);
    }

    /**
     * Under the mutex: gives up one count of a thread's hold.
     *
     * @return what is left to do without the mutex; null if there is nothing
     * @throws IllegalMonitorStateException if the thread has no count
     */
    public @Nullable HoldEnd unlock(LockSpec spec, Thread thread) {
        ReentrantHolds.Counts counts = threads.leave(thread, spec);
        if (counts == null) {
            throw new IllegalMonitorStateException("Thread " + thread.getName() + " of client " + engine.clientId()
                    + " does not hold " + (spec.isRead() ? "read " : "") + "lock \"" + name
                    + "\": only the thread that locked it may unlock it, and as often as it locked it");
        }
        if (counts.isNone()) {
            return counts.hold().end();
        }
        return counts.hold().continueAs(spec.isExclusive() && counts.isOnlyShared());
    }

    // ---- the life of grants ----

    /**
     * Under the mutex: a grant begins. One of before that does not fit beside it is lost: the store has forgotten it. Of some
     * that do not fit all together, as permits of a semaphore, the store knows which are lost, and is asked.
     */
    void add(Grant grant, long now) {
        for (Grant older : List.copyOf(grants)) {
            if (excludes(older, grant.spec())) {
                older.loseToNewer();
            }
        }
        grants.add(grant);
        grant.begin(now);
        if (granted() > grant.spec().limit()) {
            grants.forEach(one -> one.renewNow(now));
        }
    }

    /** Whether the store cannot have both. */
    private static boolean excludes(Grant grant, LockSpec other) {
        return grant.spec().permits() + other.permits() > other.limit();
    }

    /**
     * Under the mutex: a grant begins that was acquired without a waiter, with its first hold. Null if it came too late, so
     * that it must be released.
     */
    public @Nullable Hold adopt(
            LockSpec spec, Claim claim, Granted granted, long sentAt, @Nullable Thread thread, boolean forThread) {
        if (engine.isClosed()) {
            throw engine.closedException(name);
        }
        long now = engine.now();
        Validity validity = Validity.of(sentAt, granted.lease());
        if (isOutdated(spec, granted.counter()) || !isWorthHaving(spec, validity, now)) {
            return null;
        }
        Grant grant = new Grant(this, spec, claim, granted.counter(), validity, now);
        add(grant, now);
        return share(grant, spec, thread, forThread, now);
    }

    @Override
    public boolean passOn(Grant grant) {
        return queue.passOn(grant);
    }

    @Override
    public boolean isIdle(Grant grant) {
        return queue.isIdle(grant);
    }

    @Override
    public void forget(Grant grant) {
        grants.remove(grant);
        queue.forgetIdle(grant);
        threads.forgetDeadThreads();
    }

    @Override
    public void forgetDeadThreads() {
        threads.forgetDeadThreads();
    }

    @Override
    public void wakeNext() {
        queue.wakeHead(engine.now());
    }

    @Override
    public void released() {
        // Others may have begun to wait since this was retired, and so have another lock of the name.
        CohortLock present = retired ? engine.locks().peek(name) : this;
        if (present != null) {
            present.change(present.queue::released);
        }
    }

    /** Whether at least half of what was asked for is left of a grant. */
    boolean isWorthHaving(LockSpec spec, Validity validity, long now) {
        // A session never grants more than it surely lives, however often it is asked.
        boolean asMuchAsThereIs = spec.autoRenew() || engine.traits().liveness() == Liveness.SESSION;
        long needed =
                asMuchAsThereIs ? validity.span() : engine.roundUp(spec.lease()).toNanos();
        return validity.deadline() - now >= needed / 2 - Validity.MARGIN_NANOS;
    }

    /** Whether a grant with this counter is older than one that is here and does not fit beside it. */
    boolean isOutdated(LockSpec spec, long counter) {
        for (Grant grant : grants) {
            if (grant.counter() > counter && excludes(grant, spec)) {
                return true;
            }
        }
        return false;
    }

    /** Without the mutex: a claim of this client's holds no more. */
    void lost(ClaimId id, Renewed.Reason reason) {
        change(() -> {
            for (Grant grant : List.copyOf(grants)) {
                if (grant.claim().id().equals(id)) {
                    grant.gone(reason);
                }
            }
        });
    }

    /** Who hold it here. */
    public List<OwnerInfo> owners() {
        return locked(() -> grants.stream()
                .filter(grant -> grant.holders() > 0)
                .map(Grant::owner)
                .toList());
    }

    /** How many hold it here; a thread that has locked it twice counts once. */
    int held() {
        return locked(() -> grants.stream().mapToInt(Grant::holders).sum());
    }

    /** Under the mutex: the engine closes. */
    void close() {
        for (Grant grant : List.copyOf(grants)) {
            grant.lose(LossReason.CLOSED);
        }
        queue.close();
    }
}
