package dev.holdfast.zookeeper;

import dev.holdfast.spi.StoreException;
import dev.holdfast.store.TimeLimit;
import dev.holdfast.zookeeper.session.ZooKeeperErrors;
import java.util.Objects;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One call of the store, which ends with the answer of its operation, or with its time limit. Its end may be reported twice:
 * by the time limit, and by an answer that comes late. The first one counts.
 */
abstract class LimitedCall<T> implements BiConsumer<T, Throwable> {

    private final String subject;
    private TimeLimit.@Nullable Call limit;

    /** @param subject what the call is about, for messages */
    LimitedCall(String subject) {
        this.subject = subject;
    }

    /** It has been answered. */
    abstract void answered(T answer);

    /** It has failed, or took too long. */
    abstract void failed(StoreException cause);

    /** @param operation reports to this how it has ended, or throws */
    final void begin(TimeLimit timeLimit, Consumer<LimitedCall<T>> operation) {
        limit = timeLimit.begin(() -> failed(ZooKeeperErrors.of(new TimeoutException("no answer in time"), subject)));
        try {
            operation.accept(this);
        } catch (RuntimeException failure) {
            accept(null, failure);
        }
    }

    @Override
    public final void accept(@Nullable T answer, @Nullable Throwable failure) {
        TimeLimit.Call running = limit;
        if (running != null) {
            running.end();
        }
        if (failure != null) {
            failed(ZooKeeperErrors.of(failure, subject));
        } else {
            answered(Objects.requireNonNull(answer));
        }
    }
}
