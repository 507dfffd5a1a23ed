package dev.holdfast.internal.calls;

import dev.holdfast.internal.time.Agenda;
import dev.holdfast.internal.time.Alarm;
import dev.holdfast.internal.time.Backoff;
import dev.holdfast.internal.time.Uptime;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/**
 * One request that is sent until it is answered, refused for good, or its time is over. Nobody waits between two attempts:
 * an alarm hands the next one to a thread of a lane.
 *
 * <pre>
 *   the store says    then
 *   an answer         the call ends with it
 *   NONE              it is sent again
 *   UNKNOWN           it is sent again, as one that may have had an effect (law 2)
 *   not retryable     the call fails
 * </pre>
 *
 * <p>Attempts follow one after the other, so that its methods are never called at the same time.
 */
public abstract class RepeatedCall<T> {

    /**
     * What all repeated calls of a kind share.
     *
     * @param lane runs an attempt on a thread that may block; false if it is closed
     * @param isOver whether nothing is to be repeated any more
     */
    public record Retries(
            Uptime time, Agenda<Alarm> alarms, Predicate<Runnable> lane, Backoff backoff, BooleanSupplier isOver) {}

    private final Retries retries;
    private final long until;
    private int tries;

    /** @param until when no further attempt is made */
    protected RepeatedCall(Retries retries, long until) {
        this.retries = retries;
        this.until = until;
    }

    /** Makes an attempt. */
    protected abstract CompletionStage<T> send();

    /** The call has ended with this answer. */
    protected abstract void answered(T answer);

    /** An attempt may have had an effect that its answer did not report. */
    protected void outcomeIsUnknown() {}

    /** The first attempt failed, and the call is repeated in the background. */
    protected void delayed() {}

    /** The call has failed with its last attempt. */
    protected abstract void failed(StoreException cause);

    /** Makes the first attempt on the calling thread. */
    public final void start() {
        attempt();
    }

    /** Makes the first attempt on a thread of the lane. */
    public final void startOnLane() {
        if (!retries.lane.test(this::attempt)) {
            failed(StoreException.unavailable(Effect.NONE, "Not sent: the client is closed", null));
        }
    }

    private void attempt() {
        try {
            send().whenComplete(this::attemptEnded);
        } catch (Throwable failure) {
            // Also an Error: somebody waits for the end of this call.
            attemptFailed(StoreException.of(failure));
        }
    }

    private void attemptEnded(T answer, Throwable failure) {
        if (failure != null) {
            attemptFailed(StoreException.of(failure));
        } else {
            answered(answer);
        }
    }

    private void attemptFailed(StoreException cause) {
        if (cause.effect() == Effect.UNKNOWN) {
            outcomeIsUnknown();
        }
        long next = retries.time.now() + retries.backoff.after(tries++, retries.time);
        if (!cause.retryable() || next > until || retries.isOver.getAsBoolean()) {
            failed(cause);
            return;
        }
        Alarm again = new Alarm(() -> {
            if (!retries.lane.test(() -> repeat(cause))) {
                failed(cause);
            }
        });
        retries.alarms.schedule(again, next);
        delayed();
    }

    // The close rings all alarms; what it would grant could not be released any more. And a thread of the lane may come
    // too late.
    private void repeat(StoreException cause) {
        if (retries.isOver.getAsBoolean() || retries.time.now() > until) {
            failed(cause);
        } else {
            attempt();
        }
    }
}
