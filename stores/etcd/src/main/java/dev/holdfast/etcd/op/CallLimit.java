package dev.holdfast.etcd.op;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.TimeLimit;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/**
 * The time limit of whole calls of the store. Each answer of a server has a limit of its own, but a call may need many of them:
 * log-ins, a session, reads of a long queue, and further attempts if others are faster. A call that takes too long has failed
 * for who has made it; what comes of it later is what comes of a request whose reply was lost.
 */
public final class CallLimit {

    /** For how many answers there is time, if each takes as long as it may. */
    private static final int ANSWERS = TryAcquire.MAX_ROUNDS + 2;

    private final Duration limit;
    private final TimeLimit timeLimit;

    /** @param answer the time limit of one answer */
    public CallLimit(Duration answer) {
        this.limit = answer.multipliedBy(ANSWERS);
        this.timeLimit = new TimeLimit(limit);
    }

    /** The longest time that a call takes. */
    public Duration longest() {
        return limit.plusSeconds(1);
    }

    /** Begins a call that may change something. The failure is reported if the call has not ended in time. */
    TimeLimit.Call begin(Consumer<StoreException> late) {
        return timeLimit.begin(() -> late.accept(failure(Effect.UNKNOWN)));
    }

    /** Limits the time of a call that was just begun. */
    public <T> CompletionStage<T> on(CompletionStage<T> call, Effect effect) {
        CompletableFuture<T> answer = call.toCompletableFuture();
        if (!answer.isDone()) {
            TimeLimit.Call running = timeLimit.begin(() -> answer.completeExceptionally(failure(effect)));
            answer.whenComplete((value, failure) -> running.end());
        }
        return answer;
    }

    private StoreException failure(Effect effect) {
        return StoreException.unavailable(
                effect, "etcd did not give all answers that were needed within " + limit.toMillis() + " ms", null);
    }
}
