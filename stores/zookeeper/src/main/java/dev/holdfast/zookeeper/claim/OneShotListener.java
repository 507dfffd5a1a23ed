package dev.holdfast.zookeeper.claim;

import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Passes on one outcome of a claim to a listener, and no second one: the same grant may be seen by the reply to the
 * request, by an event and by a renewal. The listener is never called while a lock is held. Thread-safe.
 */
public final class OneShotListener implements ListenerRegistration {

    private @Nullable ClaimListener listener;

    public OneShotListener(ClaimListener listener) {
        this.listener = listener;
    }

    public void waiting(int position) {
        ClaimListener target;
        synchronized (this) {
            target = listener;
        }
        if (target != null) {
            target.waiting(position, Duration.ZERO);
        }
    }

    public void granted(Granted granted) {
        ClaimListener target = take();
        if (target != null) {
            target.granted(granted);
        }
    }

    public void ended(Renewed.Reason reason) {
        ClaimListener target = take();
        if (target != null) {
            target.ended(reason);
        }
    }

    public void failed(StoreException cause) {
        ClaimListener target = take();
        if (target != null) {
            target.failed(cause);
        }
    }

    private synchronized @Nullable ClaimListener take() {
        ClaimListener taken = listener;
        listener = null;
        return taken;
    }

    @Override
    public void close() {
        take();
    }
}
