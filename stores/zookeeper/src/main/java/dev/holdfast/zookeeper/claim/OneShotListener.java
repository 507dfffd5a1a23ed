package dev.holdfast.zookeeper.claim;

import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Hears for a listener what becomes of a claim, and tells it one outcome and no more, although a grant may be seen by
 * several: by the answer to the request, by an event, and by a renewal. Thread-safe; nothing is told under a lock.
 */
public final class OneShotListener implements ListenerRegistration {

    private @Nullable ClaimListener listener;

    public OneShotListener(ClaimListener listener) {
        this.listener = listener;
    }

    public void waiting(int position) {
        ClaimListener told;
        synchronized (this) {
            told = listener;
        }
        if (told != null) {
            told.waiting(position, Duration.ZERO);
        }
    }

    public void granted(long counter, Duration lease) {
        ClaimListener told = take();
        if (told != null) {
            told.granted(counter, lease);
        }
    }

    public void ended(Renewed.Reason reason) {
        ClaimListener told = take();
        if (told != null) {
            told.ended(reason);
        }
    }

    public void failed(StoreException cause) {
        ClaimListener told = take();
        if (told != null) {
            told.failed(cause);
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
