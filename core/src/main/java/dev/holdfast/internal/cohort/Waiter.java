package dev.holdfast.internal.cohort;

import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Wakeable;
import dev.holdfast.spi.Released;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A local wish to hold, from its arrival to its end: a hold, a failure, or neither. How it sleeps and is woken is up to
 * whoever made it.
 *
 * <p>Guarded by the mutex of the lock, but for {@link #isDone} and {@link #isWoken}, and for what came out, which may be read
 * by anyone once it is done.
 */
public final class Waiter implements Wakeable {

    /** How a waiter sleeps. Called under the mutex: must neither block nor call users. */
    public interface Sleeper {

        /** A pass must be made soon. */
        void wake();

        /** A pass must be made at this time at the latest. */
        void sleepUntil(long at);
    }

    private final LockSpec spec;
    private final @Nullable Thread thread;
    private final boolean forThread;
    private final boolean once;
    private final List<String> held;
    private final long deadline;
    private final Sleeper sleeper;

    /** When it became the first of the local queue; negative until then. */
    private long headSince = -1;

    private volatile boolean signalled;
    private boolean tried;
    private @Nullable RemoteContender own;
    private @Nullable CompletableFuture<@Nullable Released> leaving;
    private @Nullable Hold hold;
    private @Nullable RuntimeException failure;
    private Outcome outcome = Outcome.FAILED;
    private volatile boolean done;

    /**
     * @param thread who acquires, to be interrupted on loss; null for nobody
     * @param forThread whether the hold becomes the thread's own, through {@code lock()}
     * @param once whether it does not wait for its turn
     * @param held the names that the thread holds already
     * @param deadline when to give up; {@link dev.holdfast.internal.time.Nanos#NEVER} for never
     * @param sleeper how it sleeps
     */
    public Waiter(
            LockSpec spec,
            @Nullable Thread thread,
            boolean forThread,
            boolean once,
            List<String> held,
            long deadline,
            Sleeper sleeper) {
        this.spec = spec;
        this.thread = thread;
        this.forThread = forThread;
        this.once = once;
        this.held = held;
        this.deadline = deadline;
        this.sleeper = sleeper;
    }

    LockSpec spec() {
        return spec;
    }

    @Nullable
    Thread thread() {
        return thread;
    }

    List<String> held() {
        return held;
    }

    boolean isForThread() {
        return forThread;
    }

    boolean isOnce() {
        return once;
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

    /** The contender of a waiter that is served by no other: a fair one, or one that does not wait. */
    @Nullable
    RemoteContender own() {
        return own;
    }

    void setOwn(RemoteContender own) {
        this.own = own;
    }

    /** How long this has been the first of the local queue. */
    long headFor(long now) {
        if (headSince < 0) {
            headSince = now;
        }
        return now - headSince;
    }

    /** Nothing is to be done for it before this time, unless it is signalled. */
    void sleepUntil(long at) {
        sleeper.sleepUntil(at);
    }

    // ---- waking ----

    /** Wakes it once; again only after {@link #awake}. */
    void signal() {
        if (!signalled) {
            signalled = true;
            sleeper.wake();
        }
    }

    @Override
    public boolean isWoken() {
        return signalled;
    }

    void awake() {
        signalled = false;
    }

    // ---- its end ----

    public boolean isDone() {
        return done;
    }

    void succeed(Hold granted) {
        end(Outcome.ACQUIRED, granted, null);
    }

    void fail(RuntimeException cause) {
        end(Outcome.FAILED, null, cause);
    }

    /** It ends with nothing. */
    void giveUp(Outcome without) {
        end(without, null, null);
    }

    private void end(Outcome ending, @Nullable Hold granted, @Nullable RuntimeException cause) {
        if (done) {
            return;
        }
        hold = granted;
        failure = cause;
        outcome = ending;
        done = true;
        // Also if it was signalled before: what that has started may have to wait until others are served.
        signalled = true;
        sleeper.wake();
    }

    /** Its claim leaves the store. */
    void setLeaving(CompletableFuture<@Nullable Released> leaving) {
        this.leaving = leaving;
    }

    /** The release of the claim that it has left in the store; null if there is none. */
    public @Nullable CompletableFuture<@Nullable Released> leaving() {
        return leaving;
    }

    /** How it ended. */
    public Outcome outcome() {
        return outcome;
    }

    /** The failure with which it ended; null if it did not fail. */
    public @Nullable RuntimeException failure() {
        return failure;
    }

    /** What it got; null if the time was over or it was given up. Throws the failure, if it failed. */
    public @Nullable Hold hold() {
        if (failure != null) {
            throw failure;
        }
        return hold;
    }
}
