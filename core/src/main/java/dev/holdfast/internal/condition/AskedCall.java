package dev.holdfast.internal.condition;

import dev.holdfast.internal.Engine;
import dev.holdfast.internal.calls.RepeatedCall;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A request for whose answer the calling thread waits; it is repeated while the store fails. */
final class AskedCall<T> extends RepeatedCall<T> {

    /** Sends a request. */
    @FunctionalInterface
    interface Request<T> {

        /**
         * Makes an attempt.
         *
         * @param repeated whether an earlier one may have had an effect
         */
        CompletionStage<T> send(boolean repeated);
    }

    private final Engine engine;
    private final long until;
    private final Request<T> request;
    private final CompletableFuture<T> answer = new CompletableFuture<>();
    private volatile boolean repeated;

    /** @param until when the thread gives up, and no further attempt is made */
    AskedCall(Engine engine, long until, Request<T> request) {
        super(engine.retries(), until);
        this.engine = engine;
        this.until = until;
        this.request = request;
    }

    /**
     * Sends it and waits for the answer. An interrupt does not end the wait; the flag is kept.
     *
     * @throws StoreException with the last failure; its effect is UNKNOWN if any attempt may have had an effect
     */
    T await() {
        try {
            start();
            return engine.calls().join(() -> answer, Nanos.until(until, engine.now()));
        } catch (StoreException failure) {
            throw repeated
                    ? StoreException.unavailable(
                            StoreException.Effect.UNKNOWN, String.valueOf(failure.getMessage()), failure)
                    : failure;
        }
    }

    @Override
    protected CompletionStage<T> send() {
        return request.send(repeated);
    }

    @Override
    protected void outcomeIsUnknown() {
        repeated = true;
    }

    @Override
    protected void answered(T value) {
        answer.complete(value);
    }

    @Override
    protected void failed(StoreException cause) {
        answer.completeExceptionally(cause);
    }
}
