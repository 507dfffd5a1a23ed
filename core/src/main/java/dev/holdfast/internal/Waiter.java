package dev.holdfast.internal;

import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A local wish to hold, from its arrival to its end: a hold, a failure, or neither if it was given up. A thread waits for
 * it parked; a future is completed by passes on the dispatcher.
 *
 * <p>Guarded by the resource's mutex, but for {@link #isDone} and {@link #isWoken}.
 */
final class Waiter implements Wakeable {

    private final Request request;
    /** Who is to be woken, and to be interrupted on loss; null for a future. */
    private final @Nullable Thread thread;
    /** Whether the hold becomes the thread's own, through {@code lock()}. */
    private final boolean forThread;
    /** When to give up; {@link Long#MAX_VALUE} for never. */
    private final long deadline;

    private final long arrivedAt;
    private final Runnable wake;

    private long headSince = -1;
    private volatile boolean signalled;
    private boolean tried;
    private @Nullable Contender own;
    private volatile boolean done;
    private @Nullable Hold hold;
    private @Nullable RuntimeException failure;

    private Waiter(
            Request request,
            @Nullable Thread thread,
            boolean forThread,
            long now,
            long deadline,
            @Nullable Runnable wake) {
        this.request = request;
        this.thread = thread;
        this.forThread = forThread;
        this.arrivedAt = now;
        this.deadline = deadline;
        this.wake = wake != null ? wake : () -> LockSupport.unpark(thread);
    }

    /** A waiter that is the calling thread. */
    static Waiter ofThread(Request request, boolean forThread, long now, long deadline) {
        return new Waiter(request, Thread.currentThread(), forThread, now, deadline, null);
    }

    /** A waiter without a thread, whose {@code wake} makes another pass. */
    static Waiter ofFuture(Request request, long now, long deadline, Runnable wake) {
        return new Waiter(request, null, false, now, deadline, wake);
    }

    Request request() {
        return request;
    }

    @Nullable
    Thread thread() {
        return thread;
    }

    boolean isForThread() {
        return forThread;
    }

    long arrivedAt() {
        return arrivedAt;
    }

    long deadline() {
        return deadline;
    }

    /** Whether the time limit is over. The first pass is always made. */
    boolean isTooLate(long now) {
        return tried && now >= deadline;
    }

    void setTried() {
        tried = true;
    }

    boolean isDone() {
        return done;
    }

    /** The contender of a fair waiter, which is served by no other. */
    @Nullable
    Contender own() {
        return own;
    }

    void setOwn(Contender own) {
        this.own = own;
    }

    /** How long this has been the first of the local queue. */
    long headFor(long now) {
        if (headSince < 0) {
            headSince = now;
        }
        return now - headSince;
    }

    /** Wakes it once; again only after {@link #awake}. */
    void signal() {
        if (!signalled) {
            signalled = true;
            wake.run();
        }
    }

    @Override
    public boolean isWoken() {
        return signalled;
    }

    void awake() {
        signalled = false;
    }

    void succeed(Hold hold) {
        this.hold = hold;
        end();
    }

    void fail(RuntimeException failure) {
        this.failure = failure;
        end();
    }

    /** Ends it with nothing. */
    void giveUp() {
        end();
    }

    private void end() {
        done = true;
        signal();
    }

    /** What came out: a hold, or null if the time was over or it was given up. Throws the failure, if it failed. */
    @Nullable
    Hold outcome() {
        if (failure != null) {
            throw failure;
        }
        return hold;
    }
}
