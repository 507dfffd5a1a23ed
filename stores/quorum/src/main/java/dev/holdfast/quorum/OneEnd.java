package dev.holdfast.quorum;

import dev.holdfast.spi.StoreException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A reply that is taken once: the answer, the failure or the end of the time limit, whichever comes first. */
abstract class OneEnd<T> implements Reply<T> {

    private final AtomicBoolean ended = new AtomicBoolean();
    private final Runnable afterwards;

    /** @param afterwards runs once, after {@link #in} or {@link #out} */
    OneEnd(Runnable afterwards) {
        this.afterwards = afterwards;
    }

    /** The answer has come in time. */
    abstract void in(T answer);

    /** No answer has come in time; the cause is null if the call is still under way. */
    abstract void out(@Nullable StoreException cause);

    @Override
    public final void answered(T answer) {
        if (ended.compareAndSet(false, true)) {
            in(answer);
            afterwards.run();
        }
    }

    @Override
    public final void failed(StoreException cause) {
        if (ended.compareAndSet(false, true)) {
            out(cause);
            afterwards.run();
        }
    }

    @Override
    public final void overdue() {
        if (ended.compareAndSet(false, true)) {
            out(null);
            afterwards.run();
        }
    }
}
