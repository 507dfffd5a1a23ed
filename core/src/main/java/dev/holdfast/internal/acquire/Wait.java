package dev.holdfast.internal.acquire;

import dev.holdfast.LockObserver;
import dev.holdfast.LockObserver.Acquisition;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.cohort.Waiter;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.OwnerInfo;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition of one name that is not here already. What differs is how it sleeps: {@link ThreadWait} parks, {@link
 * FutureWait} sets an alarm.
 *
 * <p>A free lock costs two entries into the mutex: in the first the waiter joins the queue and its claim is made ready to be
 * sent, in the second the store's answer ends the wait.
 */
abstract class Wait {

    /**
     * How long the end of a wait is delayed at most until its claim has left the store. It leaves the store anyway; but until
     * then it may be granted, and keep others from getting the lock.
     */
    static final long LEAVING_NANOS = 100_000_000;

    /** So many holders an error names; a semaphore may have many more. */
    private static final int MAX_HOLDERS = 3;

    final Engine engine;
    final LockSpec spec;
    final long begun;

    Wait(Engine engine, LockSpec spec, long begun) {
        this.engine = engine;
        this.spec = spec;
        this.begun = begun;
    }

    /**
     * A waiter, which has to join the queue.
     *
     * @param thread who acquires; null for nobody
     * @param holds whether the hold becomes the thread's own, through {@code lock()}
     * @param once not to wait for the lock's turn
     * @param deadline when a wait is over; may be past, and then the lock is asked for all the same
     * @param held the names that the owner's thread holds already
     */
    final Waiter newWaiter(
            @Nullable Thread thread,
            boolean holds,
            boolean once,
            long deadline,
            List<String> held,
            Waiter.Sleeper sleeper) {
        return new Waiter(spec, thread, holds, once, held, once ? Nanos.NEVER : deadline, sleeper);
    }

    /** Notifies the observers of the beginning of an acquisition, on a thread that may run code of users, without a mutex. */
    static Map<LockObserver, Acquisition> observeStart(Engine engine, LockSpec spec) {
        return engine.callbacks().acquireStarted(spec.name().value(), spec.kind());
    }

    /**
     * Notifies the observers of the end of an acquisition, on a thread that may run code of users.
     *
     * @param started what {@link #observeStart} has returned
     */
    static void observe(
            Engine engine, LockSpec spec, Map<LockObserver, Acquisition> started, Outcome outcome, long begun) {
        if (engine.callbacks().isObserved()) {
            engine.callbacks().observeHere(ended(engine, spec, started, outcome, begun));
        }
    }

    /** The same for one that was not reported when it began, on a thread that may not run such code. */
    static void observeLater(Engine engine, LockSpec spec, Outcome outcome, long begun) {
        if (engine.callbacks().isObserved()) {
            engine.callbacks().observe(ended(engine, spec, Map.of(), outcome, begun));
        }
    }

    private static Consumer<LockObserver> ended(
            Engine engine, LockSpec spec, Map<LockObserver, Acquisition> started, Outcome outcome, long begun) {
        Duration waited = Duration.ofNanos(engine.now() - begun);
        return observer -> {
            Acquisition theirs = started.get(observer);
            if (theirs != null) {
                theirs.ended(outcome, waited);
            } else {
                observer.acquireEnded(spec.name().value(), spec.kind(), outcome, waited);
            }
        };
    }

    /**
     * What an acquisition whose time is over fails with. It names the holders in this client; the store is not asked for others.
     *
     * @param specs one, or those of a multi-lock
     * @param begun when the wait began
     */
    public static LockTimeoutException timedOut(Engine engine, List<LockSpec> specs, long begun) {
        String names = specs.stream().map(spec -> spec.name().value()).collect(Collectors.joining(","));
        String holders = specs.stream()
                .map(spec -> engine.locks().peek(spec.name()))
                .filter(Objects::nonNull)
                .flatMap(lock -> lock.owners().stream())
                .limit(MAX_HOLDERS)
                .map(OwnerInfo::toString)
                .collect(Collectors.joining(", "));
        return new LockTimeoutException(
                (specs.size() == 1 ? "Lock \"" + names + "\" was not" : "Not all of the locks \"" + names + "\" were")
                        + " free within " + (engine.now() - begun) / 1_000_000 + " ms for client " + engine.clientId()
                        + (holders.isEmpty() ? "" : ". Holders in this client: " + holders)
                        + ". Nothing was acquired and nothing waits; state(name) names all holders");
    }
}
