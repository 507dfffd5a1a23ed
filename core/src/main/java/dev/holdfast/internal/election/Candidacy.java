package dev.holdfast.internal.election;

import dev.holdfast.Lease;
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
    private volatile @Nullable CompletableFuture<Lease> waiting;
    private volatile boolean stopped;

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
        CompletableFuture<Lease> future = FutureWait.acquire(engine, spec, Nanos.NEVER);
        waiting = future;
        // Whoever has stopped this before it was set could not cancel it.
        if (stopped) {
            future.cancel(false);
        }
        future.whenComplete((lease, failure) -> callbacks.run(() -> ended((Hold) lease, failure)));
    }

    private void ended(@Nullable Hold hold, @Nullable Throwable failure) {
        waiting = null;
        if (hold != null) {
            // A term that is won at the moment of the stop is ended by the election, which waits for its release.
            if (stopped || isReady()) {
                failures = 0;
                elected.accept(hold);
            } else {
                hold.releaseAsync();
                pause(READY_NANOS);
            }
        } else if (!stopped && failure != null) {
            failed(failure);
        }
    }

    private void failed(Throwable failure) {
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
            pause(PAUSE.after(failures++));
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

    /** Ends it: what it still gets is released. */
    void stop() {
        stopped = true;
        engine.losses().remove(alarm);
        CompletableFuture<Lease> future = waiting;
        if (future != null) {
            future.cancel(false);
        }
    }
}
