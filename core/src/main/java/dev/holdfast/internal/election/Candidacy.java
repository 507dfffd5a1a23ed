package dev.holdfast.internal.election;

import dev.holdfast.LockException;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.acquire.FutureWait;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Alarm;
import dev.holdfast.internal.time.Backoff;
import dev.holdfast.internal.time.Nanos;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The way of a candidate to its next hold: it waits until it is ready, then for the hold, and begins again when that fails. There
 * is one at a time.
 *
 * <pre>
 *   CHECKING --- ready ---> WAITING --- granted, still ready ---> elected
 *     ^  ^                    |  |
 *     |  +-- not granted: pause  |
 *     +----- not ready: pause ---+
 * </pre>
 */
final class Candidacy {

    /** The pauses after failures; each attempt has lasted a {@code storeTimeout} already. */
    static final Backoff PAUSE = new Backoff(200_000_000, 5_000_000_000L);

    /** How often a candidate that is not ready is asked again. */
    static final long READY_NANOS = Duration.ofSeconds(1).toNanos();

    /** How long one who has resigned stays away where there is no queue: twice the longest pause between others' attempts. */
    static final long YIELD_NANOS = 200_000_000;

    private final Engine engine;
    private final LockSpec spec;
    private final BooleanSupplier ready;
    private final CallbackQueue callbacks;
    private final Consumer<Hold> elected;
    private final Consumer<LockException> failed;
    private final Alarm alarm = new Alarm(this::begin);

    private int failures;
    /** Completes when the last attempt has ended, with whether a callback takes over a hold that it has won. */
    private volatile CompletableFuture<Boolean> attempt = CompletableFuture.completedFuture(false);

    private volatile @Nullable FutureWait waiting;
    private volatile boolean stopped;

    /** A hold that was won, until the election takes it over. */
    private final class Win {

        private final Hold hold;
        /** Set by whoever decides: the election gets the hold, or it goes back to the store. */
        private final AtomicBoolean decided = new AtomicBoolean();

        private final Alarm giveBack = new Alarm(this::giveBack);

        private Win(Hold hold) {
            this.hold = hold;
            engine.losses().schedule(giveBack, Nanos.after(engine.now(), Nanos.of(spec.lease())));
        }

        private void giveBack() {
            if (decided.compareAndSet(false, true)) {
                hold.releaseAsync();
            }
        }

        /** Whether the election may have it. */
        private boolean take() {
            engine.losses().remove(giveBack);
            return decided.compareAndSet(false, true);
        }
    }

    /**
     * @param callbacks runs all steps, since the gate is code of the user's
     * @param elected gets the hold that was won
     * @param failed is notified of each failure
     */
    Candidacy(
            Engine engine,
            LockSpec spec,
            BooleanSupplier ready,
            CallbackQueue callbacks,
            Consumer<Hold> elected,
            Consumer<LockException> failed) {
        this.engine = engine;
        this.spec = spec;
        this.ready = ready;
        this.callbacks = callbacks;
        this.elected = elected;
        this.failed = failed;
    }

    /** Begins; also after a hold that was won is over. */
    void begin() {
        callbacks.run(this::join);
    }

    /** Begins when the others have had their turn. Where they have no places in a queue, they look at intervals. */
    void beginBehindOthers() {
        if (engine.traits().fifo()) {
            begin();
        } else {
            pause(YIELD_NANOS);
        }
    }

    private void join() {
        if (stopped) {
            return;
        }
        // A closed client refuses the attempt, which ends the candidacy.
        if (!engine.isClosed() && !isReady()) {
            pause(READY_NANOS);
            return;
        }
        CompletableFuture<Boolean> mine = new CompletableFuture<>();
        attempt = mine;
        try {
            waiting = FutureWait.acquire(engine, spec, (hold, failure) -> ended(mine, hold, failure));
        } catch (RuntimeException tooMany) {
            ended(mine, null, tooMany);
        }
        // Whoever has stopped this before it was set could not cancel it.
        if (stopped) {
            cancel();
        }
    }

    // On a thread of the engine. Callbacks may have to wait for their turn, or for a gate that hangs. Until then nobody
    // leads, so that the hold may wait for one lease only.
    private void ended(CompletableFuture<Boolean> mine, @Nullable Hold hold, @Nullable Throwable failure) {
        if (hold != null) {
            Win win = new Win(hold);
            callbacks.run(() -> won(win));
        } else if (failure != null) {
            callbacks.run(() -> failed(failure));
        }
        mine.complete(hold != null);
    }

    private void won(Win win) {
        // A term that is won at the moment of the stop is ended by the election, which waits for its release.
        boolean wanted = stopped || isReady();
        if (!win.take()) {
            beginBehindOthers();
        } else if (wanted) {
            failures = 0;
            elected.accept(win.hold);
        } else {
            win.hold.releaseAsync();
            pause(READY_NANOS);
        }
    }

    private void failed(Throwable failure) {
        if (stopped) {
            return;
        }
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        failed.accept(
                cause instanceof LockException one
                        ? one
                        : new LockException(
                                "Client " + engine.clientId() + " cannot stand for election \"" + spec.name() + "\": "
                                        + cause,
                                cause));
        if (!stopped) {
            pause(PAUSE.after(failures++, engine.time()));
        }
    }

    private void pause(long nanos) {
        engine.losses().schedule(alarm, Nanos.after(engine.now(), nanos));
        if (stopped) {
            engine.losses().remove(alarm);
        }
    }

    private boolean isReady() {
        boolean[] answer = new boolean[1];
        CallbackQueue.guard(() -> answer[0] = ready.getAsBoolean());
        return answer[0];
    }

    /** Ends it: what it still gets is ended by the election. */
    void stop() {
        stopped = true;
        engine.losses().remove(alarm);
        cancel();
    }

    private void cancel() {
        FutureWait attempted = waiting;
        if (attempted != null) {
            attempted.cancel();
        }
    }

    /** Completes when the attempt of now has ended, with whether a callback will take over what it has won. */
    CompletableFuture<Boolean> attempt() {
        return attempt;
    }
}
