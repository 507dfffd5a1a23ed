package dev.holdfast.testkit;

import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Unparks the thread that created it when the claim is granted, and remembers the time of the grant. It is for
 * measurements, where a {@link RecordingListener} would itself take time. Thread-safe; for one claim.
 */
public final class WakeListener implements ClaimListener {

    private final Thread waiter = Thread.currentThread();
    private volatile long at;

    /** Waits for the grant, and returns its time by {@link System#nanoTime}. */
    public long awaitGrant() {
        return awaitGrant(() -> {});
    }

    /**
     * Waits like {@link #awaitGrant()}, and runs {@code meanwhile} every second until then, for example to refresh
     * the ticket.
     */
    public long awaitGrant(Runnable meanwhile) {
        while (at == 0) {
            LockSupport.parkNanos(this, 1_000_000_000);
            meanwhile.run();
        }
        return at;
    }

    @Override
    public void waiting(int position, Duration retryAfter) {}

    @Override
    public void granted(Granted granted) {
        at = System.nanoTime();
        LockSupport.unpark(waiter);
    }

    @Override
    public void ended(Renewed.Reason reason) {
        throw new IllegalStateException("ended " + reason);
    }

    @Override
    public void failed(StoreException cause) {
        throw cause;
    }
}
