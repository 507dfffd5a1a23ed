package dev.holdfast.testkit.fault;

import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Stands between a store and a listener, and passes on the notifications that the network lets through: at most one
 * position in the queue and one outcome, however often the request was executed, and nothing during a partition,
 * after a loss, or after the registration was closed.
 */
final class FaultyRegistration implements ClaimListener, ListenerRegistration {

    private final ClaimListener listener;
    private final BooleanSupplier partitioned;
    private final List<ListenerRegistration> registrations = new ArrayList<>();
    private final List<Runnable> withheld = new ArrayList<>();
    private boolean withholding;
    private boolean positionDelivered;
    private boolean over;

    FaultyRegistration(ClaimListener listener, BooleanSupplier partitioned) {
        this.listener = listener;
        this.partitioned = partitioned;
    }

    /** Remembers the store's registration for an executed request. */
    void add(ListenerRegistration registration) {
        synchronized (this) {
            registrations.add(registration);
        }
    }

    /** Notifies the listener of a failure. Later notifications of the store are lost. */
    void lose(StoreException failure) {
        deliver(true, () -> listener.failed(failure));
    }

    /** Keeps the store's notifications back. */
    synchronized void withhold() {
        withholding = true;
    }

    /** Delivers the notifications that were kept back. */
    void deliverWithheld() {
        List<Runnable> notifications;
        synchronized (this) {
            withholding = false;
            notifications = List.copyOf(withheld);
            withheld.clear();
        }
        notifications.forEach(Runnable::run);
    }

    @Override
    public void waiting(int position, Duration retryAfter) {
        pushed(false, () -> listener.waiting(position, retryAfter));
    }

    @Override
    public void granted(Granted granted) {
        pushed(true, () -> listener.granted(granted));
    }

    @Override
    public void ended(Renewed.Reason reason) {
        pushed(true, () -> listener.ended(reason));
    }

    @Override
    public void failed(StoreException cause) {
        pushed(true, () -> listener.failed(cause));
    }

    @Override
    public void close() {
        List<ListenerRegistration> closed;
        synchronized (this) {
            over = true;
            withheld.clear();
            closed = List.copyOf(registrations);
        }
        closed.forEach(ListenerRegistration::close);
    }

    private void pushed(boolean outcome, Runnable notification) {
        if (!partitioned.getAsBoolean()) {
            deliver(outcome, notification);
        }
    }

    private void deliver(boolean outcome, Runnable notification) {
        synchronized (this) {
            boolean isDropped = outcome ? over : over || positionDelivered;
            if (isDropped) {
                return;
            }
            if (outcome) {
                over = true;
            } else {
                positionDelivered = true;
            }
            if (withholding) {
                withheld.add(notification);
                return;
            }
        }
        notification.run();
    }
}
