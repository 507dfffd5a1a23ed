package dev.holdfast.quorum;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits.NodeRole;
import dev.holdfast.store.BlockingCalls;
import dev.holdfast.store.TimeLimit;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One of the stores of a quorum: how it is asked, and whether it is worth asking. Thread-safe.
 *
 * <p>A node that has not answered {@value #MISSES} calls in a row leaves the rotation: acquisitions do not wait for it any
 * more. It is asked now and then in the background, and returns with its first answer. So a dead or frozen node costs its
 * time limit a few times, not each caller.
 */
final class Node {

    /** After so many calls in a row without an answer a node leaves the rotation. */
    static final int MISSES = 3;

    /** How often a node that left the rotation is asked. */
    static final Duration PROBE_EVERY = Duration.ofSeconds(1);

    /** How many calls may be made at once at a store whose calls block. */
    static final int CALLS_AT_ONCE = 8;

    /** How many calls may be under way at a node; further ones fail at once. Only a client without time limits gets there. */
    static final int MAX_OPEN = 10_000;

    /** Renewals and releases do not wait for acquisitions. */
    private static final int ENDS_AT_ONCE = 4;

    private final int index;
    private final LockStore store;
    private final boolean blocking;
    private final BlockingCalls calls;
    private final BlockingCalls upkeep;
    private final TimeLimit limit;
    private final Function<Duration, Executor> later;
    private final QuorumOptions options;
    private final NodeServers servers;
    private final long quarantine;
    private final AtomicInteger misses = new AtomicInteger();
    private final AtomicBoolean probing = new AtomicBoolean();
    private final OwedReleases owed = new OwedReleases(this);
    /** Calls that have neither been answered nor failed. */
    private final AtomicInteger open = new AtomicInteger();

    private volatile long firstIncarnation;
    private volatile boolean closed;

    /** What a call is about; each has threads of its own at a store whose calls block. */
    enum Lane {
        ACQUIRE,
        UPKEEP
    }

    /**
     * @param index the number of the node in its quorum
     * @param store the node's store; closed with this node
     * @param servers those of all nodes of the quorum
     * @param clock measures the time limit
     * @param later returns an executor that runs its tasks after the given delay
     */
    Node(
            int index,
            LockStore store,
            NodeServers servers,
            QuorumOptions options,
            MonotonicClock clock,
            Function<Duration, Executor> later) {
        this.index = index;
        this.servers = servers;
        this.store = store;
        this.options = options;
        this.quarantine = options.quarantine().toNanos();
        this.later = later;
        this.blocking = store.traits().node() == NodeRole.BLOCKING;
        this.limit = new TimeLimit(options.nodeTimeout(), clock, later);
        // What has waited for a thread until its time limit is over is not sent any more.
        this.calls = new BlockingCalls("holdfast-quorum-" + index, CALLS_AT_ONCE, false, limit);
        this.upkeep = new BlockingCalls("holdfast-quorum-upkeep-" + index, ENDS_AT_ONCE, false, limit);
    }

    int index() {
        return index;
    }

    LockStore store() {
        return store;
    }

    OwedReleases owed() {
        return owed;
    }

    boolean isInRotation() {
        return misses.get() < MISSES;
    }

    /** Whether a call has neither been answered nor failed. */
    boolean isAsked() {
        return open.get() > 0;
    }

    boolean isClosed() {
        return closed;
    }

    /** Makes a call. A node that is asked never blocks the caller. */
    <T> void ask(Lane lane, Function<LockStore, CompletionStage<T>> call, Reply<T> reply) {
        ask(lane, options.nodeTimeout(), call, reply);
    }

    /**
     * Makes a call whose answer is of no use after a time that may be shorter than the time limit of the node. An answer that comes
     * later than that, but within the time limit, is no sign that the node is away.
     */
    <T> void ask(Lane lane, Duration useful, Function<LockStore, CompletionStage<T>> call, Reply<T> reply) {
        if (open.get() >= MAX_OPEN) {
            reply.failed(StoreException.unavailable(
                    Effect.NONE, "Not sent: " + MAX_OPEN + " calls have not been answered yet", null));
            return;
        }
        open.incrementAndGet();
        AtomicBoolean missed = new AtomicBoolean();
        AtomicBoolean overdue = new AtomicBoolean();
        AtomicBoolean ended = new AtomicBoolean();
        // Before the time limit begins, so that a call that waits for a thread until then fails, instead of being
        // overdue.
        CompletionStage<T> answer = start(lane, call);
        TimeLimit.Call inTime = limit.begin(() -> {
            if (missed.compareAndSet(false, true)) {
                missed();
            }
            if (overdue.compareAndSet(false, true)) {
                reply.overdue();
            }
        });
        answer.whenComplete((value, failure) -> {
            ended.set(true);
            inTime.end();
            open.decrementAndGet();
            if (failure == null) {
                answered();
                reply.answered(value);
                return;
            }
            StoreException cause = StoreException.of(failure);
            if (!cause.retryable()) {
                answered();
            } else if (missed.compareAndSet(false, true)) {
                missed();
            }
            reply.failed(cause);
        });
        // Few leases are so short, so a timer for each call is good enough.
        if (useful.compareTo(options.nodeTimeout()) < 0 && !ended.get()) {
            later.apply(useful.isNegative() ? Duration.ZERO : useful).execute(() -> {
                if (!ended.get() && overdue.compareAndSet(false, true)) {
                    reply.overdue();
                }
            });
        }
    }

    /**
     * Asks for something that may take several requests. Whoever asks decides how long to wait; that an answer comes late is no sign
     * that the node is away.
     */
    <T> CompletionStage<T> inspect(Function<LockStore, CompletionStage<T>> call) {
        return start(Lane.UPKEEP, call);
    }

    private <T> CompletionStage<T> start(Lane lane, Function<LockStore, CompletionStage<T>> call) {
        if (!blocking) {
            try {
                return call.apply(store);
            } catch (RuntimeException | Error failure) {
                return CompletableFuture.failedStage(failure); // also an Error: whoever counts the answers waits for it
            }
        }
        return (lane == Lane.ACQUIRE ? calls : upkeep)
                .call(() -> call.apply(store))
                .thenCompose(Function.identity());
    }

    /** Acquires at this node. The answer is of no use after the given time. */
    void acquire(Claim claim, long counter, boolean raise, Duration useful, Reply<NodeAttempt> reply) {
        ask(Lane.ACQUIRE, useful, asked -> asked.tryAcquireAsNode(claim, counter, raise), reply);
    }

    /** Releases at this node. */
    void release(Claim claim, Reply<Released> reply) {
        ask(Lane.UPKEEP, asked -> asked.release(claim), reply);
    }

    /**
     * Whether a grant of this node counts. A node that has kept its data for less than the longest lease may have forgotten
     * a grant that still lasts, and of two nodes in one server only one has a vote.
     */
    boolean counts(NodeAttempt attempt) {
        return isOldEnough(attempt) && twin(attempt) == null;
    }

    private boolean isOldEnough(NodeAttempt attempt) {
        return attempt.age().toNanos() >= quarantine
                || (options.newNodes() && attempt.incarnation() == firstIncarnation);
    }

    /** Another node of the quorum that is in the same server; null if none is known. */
    @Nullable
    Node twin(NodeAttempt attempt) {
        String server = attempt.server();
        return server == null ? null : servers.noted(this, server);
    }

    /** Why a grant of this node does not count yet, for messages. */
    String whyNotCounted(NodeAttempt attempt) {
        Node twin = twin(attempt);
        if (twin != null) {
            return "granted, but it is in the same server as " + twin + ", and one server has one vote";
        }
        return "granted, but it may have lost data " + attempt.age().toMillis() + " ms ago and is not counted before "
                + quarantine / 1_000_000 + " ms";
    }

    /** Notes which data the node had when it was opened. */
    void seenAtTheStart(NodeAttempt attempt) {
        firstIncarnation = attempt.incarnation();
    }

    private void answered() {
        if (misses.getAndSet(0) >= MISSES) {
            owed.pay();
        }
    }

    private void missed() {
        if (misses.incrementAndGet() >= MISSES) {
            probeLater();
        }
    }

    private void probeLater() {
        if (!closed && probing.compareAndSet(false, true)) {
            later(this::probe);
        }
    }

    /** Runs something a while later, unless the node is closed by then. */
    void later(Runnable task) {
        later.apply(PROBE_EVERY).execute(() -> {
            if (!closed) {
                task.run();
            }
        });
    }

    private void probe() {
        probing.set(false);
        if (isInRotation()) {
            return;
        }
        // Its outcome is counted as that of any call: a failure calls probeLater again.
        ask(Lane.UPKEEP, asked -> asked.list("", 1), Ignored.reply());
    }

    void close() {
        closed = true;
        calls.close();
        upkeep.close();
        store.close();
    }

    @Override
    public String toString() {
        return store.toString();
    }
}
