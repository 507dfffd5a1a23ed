package dev.holdfast.internal;

import dev.holdfast.LockException;
import dev.holdfast.LockObserver;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.StoreTraits;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What the resources of one client share: the store, the time, the identity of the client, the threads that renew, watch
 * the time, work for acquisitions without a thread and call the user back.
 *
 * <p>Threads, all daemons and started when first needed: {@code holdfast-renewals}, {@code holdfast-timer}, {@code
 * holdfast-io-n} ({@value #IO_THREADS} at the most) and, unless the user gave an executor, {@code holdfast-callback-n}.
 */
public final class Engine implements AutoCloseable {

    /** The most threads that work in the background: acquisitions without a thread, repeated releases. */
    static final int IO_THREADS = 4;

    /** The most acquisitions without a thread that may wait at once. */
    static final int MOST_FUTURES = 100_000;

    /** A renewal that is not answered is repeated after this part of the lease, */
    static final int REPEAT_PART = 6;

    /** but not sooner than this. */
    static final long REPEAT_LEAST_NANOS = 10_000_000;

    /** How long a close waits for releases that are under way. */
    static final long CLOSE_NANOS = 2_000_000_000;

    private static final long CLOSE_POLL_NANOS = 1_000_000;

    private final LockStore store;
    private final StoreTraits traits;
    private final MonotonicClock clock;
    private final long origin;
    private final long callTimeout;
    private final LockObserver observer;
    private final Identity identity;
    private final int handOffsMax;
    private final long handOffNanos;

    private final AtomicLong sequence = new AtomicLong();
    private final AtomicInteger futures = new AtomicInteger();
    private final Map<LockName, Resource> resources = new ConcurrentHashMap<>();
    /** Contenders that may be granted by somebody's release, by the sequence of their claim. */
    private final Map<Long, Contender> expecting = new ConcurrentHashMap<>();

    private final Answers answers;
    private final Timer timer;
    private final Renewals renewals;
    private final Releases releases;
    private final ThreadPoolExecutor io;
    private final AtomicLong tasksBegun = new AtomicLong();
    private final AtomicLong tasksEnded = new AtomicLong();
    private final @Nullable Executor callbacks;
    private final ThreadPoolExecutor ownCallbacks;
    private final ReentrantLock closing = new ReentrantLock();
    private volatile @Nullable OwnerInfo lastOwner;
    private volatile boolean closed;

    /**
     * @param store the store
     * @param clock the time
     * @param observer hears what happens
     * @param callbacks where listeners and futures of the user are called; null for threads of the engine's own
     * @param label a text that tells people who this client is; may be empty
     * @param handOffsMax how often a grant is passed on inside the JVM
     * @param handOffTime for how long
     */
    public Engine(
            LockStore store,
            MonotonicClock clock,
            LockObserver observer,
            @Nullable Executor callbacks,
            String label,
            int handOffsMax,
            Duration handOffTime) {
        this.store = store;
        this.traits = store.traits();
        this.clock = clock;
        this.origin = clock.nanoTime();
        this.callTimeout = traits.callTimeout().toNanos();
        this.observer = observer;
        this.identity = Identity.create(label);
        this.handOffsMax = handOffsMax;
        this.handOffNanos = handOffTime.toNanos();
        this.answers = new Answers(clock, origin);
        this.timer = new Timer(clock, origin);
        this.renewals = new Renewals(this, clock, origin);
        this.releases = new Releases(this);
        this.io = Pools.fixed("holdfast-io", IO_THREADS);
        this.callbacks = callbacks;
        this.ownCallbacks = Pools.growing("holdfast-callback");
    }

    /** The store. */
    public LockStore store() {
        return store;
    }

    StoreTraits traits() {
        return traits;
    }

    MonotonicClock clock() {
        return clock;
    }

    /** Nanoseconds since the engine's start. */
    long now() {
        return clock.nanoTime() - origin;
    }

    /** The random id of this client. */
    public String clientId() {
        return identity.client();
    }

    int handOffsMax() {
        return handOffsMax;
    }

    long handOffNanos() {
        return handOffNanos;
    }

    /** When to ask again if a renewal is not answered, of something that lives for {@code span}: repeating does no harm. */
    long repeatAfter(long span) {
        return Math.max(REPEAT_LEAST_NANOS, Math.min(callTimeout, span / REPEAT_PART));
    }

    /** Waits for the store's answers. */
    Answers answers() {
        return answers;
    }

    Timer timer() {
        return timer;
    }

    Renewals renewals() {
        return renewals;
    }

    Releases releases() {
        return releases;
    }

    // ---- resources, claims, grants ----

    /** The resource of a name, with its mutex held: the caller unlocks it. */
    @SuppressWarnings("LockNotBeforeTry")
    Resource enter(LockName name) {
        while (true) {
            Resource resource = resources.get(name);
            if (resource == null) {
                resource = resources.computeIfAbsent(name, missing -> new Resource(this, missing));
            }
            resource.mutex().lock();
            if (!resource.isRetired()) {
                return resource;
            }
            resource.mutex().unlock();
        }
    }

    /** The resource of a name if it is in use here, without its mutex. */
    @Nullable
    Resource peek(LockName name) {
        return resources.get(name);
    }

    void forget(Resource resource) {
        resources.remove(resource.name(), resource);
    }

    Claim newClaim(Request request) {
        ClaimId id = new ClaimId(identity.client(), sequence.incrementAndGet());
        OwnerInfo owner = owner(Thread.currentThread(), List.of());
        Duration lease = LockStore.roundUp(request.lease(), traits.leaseStep());
        return new Claim(request.name(), id, request.permits(), request.limit(), lease, owner);
    }

    long leaseNanos(Request request) {
        return LockStore.roundUp(request.lease(), traits.leaseStep()).toNanos();
    }

    /** The owner of a claim behind which these threads wait, with the names that they hold. */
    OwnerInfo ownerOf(List<Thread> waiting, HeldNames held) {
        return owner(waiting.isEmpty() ? null : waiting.get(0), held.of(waiting));
    }

    // A thread that holds many locks is told of once, not with each of them.
    private OwnerInfo owner(@Nullable Thread thread, List<String> held) {
        OwnerInfo last = lastOwner;
        String threadName = thread == null ? "" : thread.getName();
        if (last != null && last.thread().equals(threadName) && last.held().equals(held)) {
            return last;
        }
        OwnerInfo owner = identity.owner(threadName, held);
        lastOwner = owner;
        return owner;
    }

    /** The resources that are in use here. */
    Collection<Resource> resources() {
        return resources.values();
    }

    void hold(Grant grant) {
        timer.watch(grant, now());
        renewals.add(grant);
    }

    void letGo(Grant grant) {
        timer.forget(grant);
        renewals.remove(grant);
        if (grant.handOffs() > 0) {
            observe(told -> told.handedOff(grant.spec().name().value(), grant.handOffs()));
        }
    }

    void expect(Contender contender) {
        expecting.put(contender.claim().id().sequence(), contender);
    }

    void forget(Contender contender) {
        expecting.remove(contender.claim().id().sequence(), contender);
    }

    /** A release of this client's has granted a claim, perhaps one of its own. */
    void handed(Handed handed, long sentAt) {
        if (handed.id().client().equals(identity.client())) {
            Contender contender = expecting.get(handed.id().sequence());
            if (contender != null) {
                contender.handed(handed.id(), handed.granted(), sentAt);
            }
        }
    }

    /** This client broke a claim. If it was one of its own, its holder need not wait for a renewal to hear of it. */
    void brokenHere(Claim claim) {
        Resource resource = claim.id().client().equals(identity.client()) ? peek(claim.name()) : null;
        if (resource != null) {
            resource.brokenHere(claim.id());
        }
    }

    // ---- threads ----

    /**
     * Runs a task that may block on a thread of the engine's.
     *
     * @return false if the engine is closed and the task will not run: leases end what is left in the store
     */
    boolean dispatch(Runnable task) {
        tasksBegun.incrementAndGet();
        try {
            io.execute(() -> {
                try {
                    task.run();
                } finally {
                    tasksEnded.incrementAndGet();
                }
            });
            return true;
        } catch (RejectedExecutionException afterClose) {
            tasksEnded.incrementAndGet();
            return false;
        }
    }

    /**
     * Whether timer and renewals have nothing to do until a later time. Only together with {@link #tasks} and {@link #steps}
     * is the answer sound: each of them may wake another that was looked at before. For tests, which let time pass on a clock
     * of theirs and must know when all its consequences are complete.
     */
    public boolean isIdle() {
        return timer.isIdle() && renewals.isIdle();
    }

    /** How many dispatched tasks have not ended. */
    public long tasks() {
        return tasksBegun.get() - tasksEnded.get();
    }

    /** A number that grows with each beginning and each end of background work. */
    public long steps() {
        return tasksBegun.get() + tasksEnded.get() + timer.steps() + renewals.steps();
    }

    /** Counts an acquisition without a thread; what the dispatcher has to do is bounded by their number. */
    void beginFuture() {
        if (futures.incrementAndGet() > MOST_FUTURES) {
            futures.decrementAndGet();
            throw new LockException(
                    MOST_FUTURES + " acquisitions without a thread wait already in client " + clientId());
        }
    }

    void endFuture() {
        futures.decrementAndGet();
    }

    /**
     * Runs code of the user's: on the executor that he gave, to which a thread of the engine's own hands it, since it may
     * be one that works in the calling thread.
     */
    void callBack(Runnable code) {
        Runnable task = callbacks == null ? code : () -> handOver(callbacks, code);
        try {
            ownCallbacks.execute(task);
        } catch (RejectedExecutionException afterClose) {
            // Somebody may wait for this call; a pool that is shut down is no reason to keep him waiting for ever.
            Thread last = new Thread(task, "holdfast-callback-last");
            last.setDaemon(true);
            last.start();
        }
    }

    private static void handOver(Executor theirs, Runnable code) {
        try {
            theirs.execute(code);
        } catch (RejectedExecutionException shutDown) {
            code.run();
        }
    }

    // ---- loss and events ----

    /** Registers a listener, or calls it if the hold is lost already. */
    void listen(Hold hold, Consumer<LossReason> listener) {
        Resource resource = hold.resource();
        LossReason reason;
        resource.mutex().lock();
        try {
            reason = hold.listen(listener);
        } finally {
            resource.mutex().unlock();
        }
        if (reason != null) {
            callBack(() -> listener.accept(reason));
        }
    }

    /** A hold was marked lost just now: interrupts its owner if that is wanted, and calls the listeners, each by itself. */
    void tellLoss(Hold hold, LossReason reason, List<Consumer<LossReason>> listeners) {
        if (hold.wantsInterrupt()) {
            callBack(() -> hold.resource().transition(hold::interruptOwner));
        }
        listeners.forEach(listener -> callBack(() -> listener.accept(reason)));
        if (observer != LockObserver.NONE) {
            callBack(() -> observe(told -> told.lost(hold.request().name().value(), reason)));
        }
    }

    void observe(Consumer<LockObserver> event) {
        if (observer == LockObserver.NONE) {
            return;
        }
        try {
            event.accept(observer);
        } catch (Throwable theirs) {
            // Also an Error: the caller is in the middle of a change, and must come to its end.
            Thread thread = Thread.currentThread();
            thread.getUncaughtExceptionHandler().uncaughtException(thread, theirs);
        }
    }

    void observeEnd(LockName name, Outcome outcome, long begun) {
        if (observer != LockObserver.NONE) {
            Duration waited = Duration.ofNanos(now() - begun);
            observe(told -> told.acquireEnded(name.value(), outcome, waited));
        }
    }

    void observeReleased(Hold hold) {
        if (observer != LockObserver.NONE) {
            Duration held = Duration.ofNanos(now() - hold.since());
            observe(told -> told.released(hold.request().name().value(), held));
        }
    }

    // ---- close ----

    /** Whether {@link #close} was called. */
    public boolean isClosed() {
        return closed;
    }

    LockException closedException(LockName name) {
        return new LockException(
                "Lock \"" + name + "\" cannot be acquired: Holdfast client " + clientId() + " is closed");
    }

    /**
     * Ends all waits and holds, releases their claims within a bound of two seconds, and ends the threads. Idempotent; a
     * second caller waits until the first is done.
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
        for (Resource resource : List.copyOf(resources.values())) {
            resource.transition(resource::close);
        }
        boolean interrupted = Thread.interrupted();
        // By the system's clock: this bound must hold also when a test's clock stands still.
        long deadline = System.nanoTime() + CLOSE_NANOS;
        while (releases.pending() > 0 && System.nanoTime() < deadline) {
            LockSupport.parkNanos(this, CLOSE_POLL_NANOS);
            interrupted |= Thread.interrupted();
        }
        renewals.close();
        timer.close();
        io.shutdown();
        ownCallbacks.shutdown();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
