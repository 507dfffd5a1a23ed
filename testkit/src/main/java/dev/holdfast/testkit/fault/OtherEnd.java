package dev.holdfast.testkit.fault;

import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * A listener that is notified of everything but the end of its claim.
 *
 * @param listener is notified of all else
 * @param end is notified of the end
 */
public record OtherEnd(ClaimListener listener, Consumer<Renewed.Reason> end) implements ClaimListener {

    @Override
    public void waiting(int position, Duration retryAfter) {
        listener.waiting(position, retryAfter);
    }

    @Override
    public void granted(Granted granted) {
        listener.granted(granted);
    }

    @Override
    public void ended(Renewed.Reason reason) {
        end.accept(reason);
    }

    @Override
    public void failed(StoreException cause) {
        listener.failed(cause);
    }
}
