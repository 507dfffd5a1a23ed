package dev.holdfast.internal;

import dev.holdfast.LockException;
import dev.holdfast.LockObserver;
import dev.holdfast.internal.calls.LockInspector;
import dev.holdfast.internal.calls.ReleaseRetrier;
import dev.holdfast.internal.calls.RepeatedCall.Retries;
import dev.holdfast.internal.calls.StoreCalls;
import dev.holdfast.internal.cohort.CohortLocks;
import dev.holdfast.internal.condition.WaitSets;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Agenda;
import dev.holdfast.internal.time.Alarm;
import dev.holdfast.internal.time.Backoff;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.internal.time.Renewable;
import dev.holdfast.internal.time.RenewalScheduler;
import dev.holdfast.internal.time.Simulator;
import dev.holdfast.internal.time.Uptime;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.StoreTraits;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What all locks of one client share: the store, the time, the identity of the client, its threads, and the table of the
 * names in use.
 *
 * <p>Threads, all daemons and started when first needed:
 *
 * <ul>
 *   <li>{@code holdfast-losses} declares losses and rings alarms; it does no I/O and runs no code of users;
 *   <li>{@code holdfast-renewals} renews, and does nothing else;
 *   <li>{@code holdfast-io-n} make the calls of those who wait without a thread; nothing sleeps there between calls;
 *   <li>{@code holdfast-end-n} end such acquisitions, without any call;
 *   <li>{@code holdfast-release-n} make the releases for which nobody's thread is at hand, {@code holdfast-cleanup-n} those
 *       of lost grants, which an outage may leave in great numbers;
 *   <li>{@code holdfast-callback-n} run code of users.
 * </ul>
 */
public final class Engine implements AutoCloseable {

    /** The waits between attempts at a request that failed. */
    public static final Backoff RETRY = new Backoff(10_000_000, 500_000_000);

    /** The most calls that are made at once for those who wait without a thread. */
    static final int MAX_IO_THREADS = 128;

    /** The most threads that end acquisitions without a thread. They never wait. */
    static final int MAX_END_THREADS = 4;

    /** The most releases that are made at once without a thread of the user's. */
    static final int MAX_RELEASE_THREADS = 128;

    /** The most releases of lost grants that are made at once. */
    static final int MAX_CLEANUP_THREADS = 16;

    /** The most acquisitions without a thread that may wait at once. */
    static final int MAX_FUTURES = 100_000;

    /** How long a close waits for elections to stop, and then for releases that are under way. */
    static final long CLOSE_NANOS = 2_000_000_000;

    /** A renewal that is not answered is repeated after this part of the lease. */
    private static final int REPEAT_PART = 6;

    /** A renewal that is not answered is not repeated sooner than this. */
    private static final long REPEAT_LEAST_NANOS = 10_000_000;

    /** A ticket is refreshed after this part of its time to live. */
    private static final int REFRESH_PART = 3;

    /** A refresh may be this part early to join a batch. */
    public static final int REFRESH_EARLY_PART = 6;

    private static final long CLOSE_POLL_NANOS = 1_000_000;

    private final LockStore store;
    private final StoreTraits traits;
    private final Uptime time;
    private final long callTimeout;
    private final ClientIdentity identity;
    private final int handOffsMax;
    private final long handOffNanos;

    private final AtomicLong sequence = new AtomicLong();
    private final AtomicInteger futures = new AtomicInteger();
    private final CohortLocks locks;
    private final WaitSets waitSets;
    private final StoreCalls calls;
    private final Lane io;
    private final Lane ends;
    private final Lane releaseLane;
    private final Lane cleanupLane;
    private final Callbacks callbacks;
    private final Agenda<Alarm> losses;
    private final Agenda<Renewable> renewals;
    private final ReleaseRetrier releases;
    private final LockInspector inspector;
    private final ListenerRegistration lossWatch;
    private final Set<ClosesFirst> closeFirst;
    private final ReentrantLock closing = new ReentrantLock();
    private volatile @Nullable OwnerInfo lastOwner;
    private volatile boolean closed;
    /** Whether the close waits for releases and signals no more. */
    private volatile boolean ended;

    /**
     * @param store the store
     * @param clock the time
     * @param observers are notified of events, in this order
     * @param executor runs listeners and futures of the user; null for threads of the engine
     * @param label a text by which people recognise this client; may be empty
     * @param handOffsMax how often a grant is passed on inside the JVM
     * @param handOffTime for how long
     * @param simulator does the work of the engine, for a test; null if threads do it
     */
    @SuppressWarnings("this-escape")
    public Engine(
            LockStore store,
            MonotonicClock clock,
            List<LockObserver> observers,
            @Nullable Executor executor,
            String label,
            int handOffsMax,
            Duration handOffTime,
            @Nullable Simulator simulator) {
        // In the order of their coming, which must be the same each time if a seed is to repeat it.
        this.closeFirst = Simulator.setFor(simulator);
        this.waitSets = new WaitSets(simulator);
        this.io = new Lane("holdfast-io", MAX_IO_THREADS, simulator);
        this.ends = new Lane("holdfast-end", MAX_END_THREADS, simulator);
        this.releaseLane = new Lane("holdfast-release", MAX_RELEASE_THREADS, simulator);
        this.cleanupLane = new Lane("holdfast-cleanup", MAX_CLEANUP_THREADS, simulator);
        this.callbacks = new Callbacks(observers, executor, simulator);
        this.store = observers.isEmpty() ? store : new ObservedStore(store, clock, callbacks);
        this.traits = store.traits();
        this.time = Uptime.start(clock, simulator);
        this.callTimeout = traits.callTimeout().toNanos();
        this.identity = ClientIdentity.create(label);
        this.handOffsMax = handOffsMax;
        this.handOffNanos = Nanos.of(handOffTime);
        this.calls = new StoreCalls(time);
        this.losses = Alarm.agenda("holdfast-losses", time);
        this.renewals = RenewalScheduler.agenda(
                this.store,
                time,
                (claims, failed, took) -> callbacks.observe(listener -> listener.renewed(claims, failed, took)));
        this.locks = new CohortLocks(this, identity.client());
        this.releases = new ReleaseRetrier(
                this.store,
                new Retries(time, losses, releaseLane::run, ReleaseRetrier.BACKOFF, () -> ended),
                new Retries(time, losses, cleanupLane::run, ReleaseRetrier.BACKOFF, () -> ended),
                locks::granted);
        this.inspector = new LockInspector(
                this.store,
                time,
                calls,
                identity.client(),
                releases,
                locks::lost,
                locks::withPresentOwner,
                this::isClosed);
        this.lossWatch = store.watchLosses(locks::lost);
    }

    public LockStore store() {
        return store;
    }

    public StoreTraits traits() {
        return traits;
    }

    public Uptime time() {
        return time;
    }

    /** Nanoseconds since the engine's start. */
    public long now() {
        return time.now();
    }

    /** The random id of this client. */
    public String clientId() {
        return identity.client();
    }

    public int handOffsMax() {
        return handOffsMax;
    }

    public long handOffNanos() {
        return handOffNanos;
    }

    /** When to ask again if a renewal of something that lives for {@code span} is not answered. */
    public long repeatAfter(long span) {
        return Math.max(REPEAT_LEAST_NANOS, Math.min(callTimeout, span / REPEAT_PART));
    }

    /** After how long a place in a queue of the store is refreshed: a third of its time to live, with jitter. */
    public long refreshAfter() {
        long refresh = traits.ticketTtl().toNanos() / REFRESH_PART;
        return refresh - time.random(refresh / 10 + 1);
    }

    /** The names in use here. */
    public CohortLocks locks() {
        return locks;
    }

    /** Where threads of this client wait for conditions that processes share. */
    public WaitSets waitSets() {
        return waitSets;
    }

    public StoreCalls calls() {
        return calls;
    }

    /** Looks at locks, and breaks them. */
    public LockInspector inspector() {
        return inspector;
    }

    /** Declares losses, and rings alarms. */
    public Agenda<Alarm> losses() {
        return losses;
    }

    /** Renews what this client holds or waits for. */
    public Agenda<Renewable> renewals() {
        return renewals;
    }

    public ReleaseRetrier releases() {
        return releases;
    }

    /** How requests other than releases are repeated. */
    public Retries retries() {
        return retriesOn(io::run);
    }

    /** How requests are repeated on threads of somebody else; false means that these are closed. */
    public Retries retriesOn(Predicate<Runnable> lane) {
        return new Retries(time, losses, lane, RETRY, this::isClosed);
    }

    /** How requests are repeated for which the close waits. */
    public Retries retriesWhileClosing() {
        return new Retries(time, losses, releaseLane::run, RETRY, () -> ended);
    }

    /** Runs the code of users. */
    public Callbacks callbacks() {
        return callbacks;
    }

    // ---- claims ----

    /** A claim that was never sent, on behalf of a thread, which holds some names already; null for a future. */
    public Claim newClaim(LockSpec spec, @Nullable Thread thread, List<String> held) {
        ClaimId id = new ClaimId(identity.client(), sequence.incrementAndGet());
        return new Claim(
                spec.name(), id, spec.permits(), spec.limit(), roundUp(spec.lease()), owner(spec, thread, held));
    }

    /** A lease as the store gives it. */
    public Duration roundUp(Duration lease) {
        return LockStore.roundUp(lease, traits.leaseStep());
    }

    /** What people see as the owner of a claim: the thread behind it, with the names that are held by all who wait behind it. */
    public OwnerInfo owner(LockSpec spec, @Nullable Thread thread, List<String> held) {
        OwnerInfo last = lastOwner;
        String threadName = thread == null ? "" : thread.getName();
        if (spec.label() != null) {
            return identity.withLabel(spec.label().get()).owner(threadName, held);
        }
        if (last != null && last.thread().equals(threadName) && last.held().equals(held)) {
            return last;
        }
        OwnerInfo owner = identity.owner(threadName, held);
        lastOwner = owner;
        return owner;
    }

    // ---- threads ----

    /**
     * Runs a task that makes a call of the store on a thread of the engine.
     *
     * @return false if the engine is closed and the task will not run: leases end what is left in the store
     */
    public boolean dispatch(Runnable task) {
        return io.run(task);
    }

    /** Runs a task that makes no call and runs no code of users, and so never waits; false as {@link #dispatch}. */
    public boolean dispatchEnd(Runnable task) {
        return ends.run(task);
    }

    /** Runs a release on a thread of the engine; false as {@link #dispatch}. */
    public boolean dispatchRelease(Runnable task) {
        return releaseLane.run(task);
    }

    /** Counts an acquisition without a thread; what waits for the lane of calls is bounded by their number. */
    public void beginFuture() {
        if (futures.incrementAndGet() > MAX_FUTURES) {
            futures.decrementAndGet();
            throw new LockException(
                    MAX_FUTURES + " acquisitions without a thread wait already in client " + clientId());
        }
    }

    public void endFuture() {
        futures.decrementAndGet();
    }

    /**
     * Whether losses and renewals have nothing to do until a later time. The answer is sound only together with {@link
     * #tasks} and {@link #steps}, because each of them may wake another that was looked at before. For tests, which let time
     * pass on a clock of theirs and must know when all its consequences are complete.
     */
    public boolean isIdle() {
        return losses.isIdle() && renewals.isIdle();
    }

    /** Whether nothing is scheduled: neither renewals nor alarms. For tests. */
    public boolean hasEmptyAgendas() {
        return losses.isEmpty() && renewals.isEmpty();
    }

    /** How many tasks of the lanes have not ended. */
    public long tasks() {
        return io.pending() + ends.pending() + releaseLane.pending() + cleanupLane.pending();
    }

    /** A number that grows with each beginning and each end of background work. */
    public long steps() {
        return io.steps()
                + ends.steps()
                + releaseLane.steps()
                + cleanupLane.steps()
                + losses.steps()
                + renewals.steps();
    }

    // ---- close ----

    /** Registers what is to end before the locks do when the client closes. */
    public void closeFirst(ClosesFirst user) {
        closeFirst.add(user);
    }

    /** It has ended before the client. */
    public void closesAlone(ClosesFirst user) {
        closeFirst.remove(user);
    }

    /** Whether {@link #close} was called. */
    public boolean isClosed() {
        return closed;
    }

    /** What an acquisition fails with after the close. */
    public LockException closedException(LockName name) {
        return new LockException("Lock \"" + name + "\" cannot be acquired: Holdfast client " + clientId()
                + " is closed. Connect another one, or close it after its last use only");
    }

    /**
     * Ends elections, then all waits and holds, releases their claims, and ends the threads. It waits for two seconds at most
     * until the tasks of elections have stopped, and as long for the releases, and for the signals to threads of this client,
     * which pass them on. Idempotent; a second caller waits until the
     * first is done.
     */
    @Override
    public void close() {
        closing.lock();
        try {
            if (!closed) {
                closed = true;
                end();
            }
        } finally {
            closing.unlock();
        }
    }

    private void end() {
        boolean interrupted = Thread.interrupted();
        // A copy, because what has left already removes itself.
        List<CompletableFuture<@Nullable Void>> leaving =
                List.copyOf(closeFirst).stream().map(ClosesFirst::leave).toList();
        // By the system's clock: these bounds must hold also when a test's clock stands still.
        interrupted |=
                awaitUntil(() -> leaving.stream().allMatch(CompletableFuture::isDone), System.nanoTime() + CLOSE_NANOS);
        locks.close();
        waitSets.close();
        long deadline = System.nanoTime() + CLOSE_NANOS;
        // In this order: a wait that ends may begin a release.
        interrupted |= awaitUntil(() -> waitSets.unfinished() == 0 && releases.pending() == 0, deadline);
        ended = true;
        lossWatch.close();
        renewals.close();
        // Rings what is left, so that whatever waits for it ends; then those who wait without a thread make their last
        // pass, and after that nobody calls users any more.
        losses.close();
        interrupted |= awaitUntil(() -> io.pending() + ends.pending() == 0, deadline);
        io.close();
        ends.close();
        releaseLane.close();
        cleanupLane.close();
        callbacks.close();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    // Returns whether the thread was interrupted.
    private boolean awaitUntil(BooleanSupplier condition, long deadline) {
        Simulator simulator = time.simulator();
        if (simulator != null) {
            simulator.await(condition, CLOSE_NANOS);
            return false;
        }
        boolean interrupted = false;
        while (!condition.getAsBoolean() && System.nanoTime() < deadline) {
            LockSupport.parkNanos(this, CLOSE_POLL_NANOS);
            interrupted |= Thread.interrupted();
        }
        return interrupted;
    }
}
