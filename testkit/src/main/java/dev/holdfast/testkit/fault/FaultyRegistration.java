package dev.holdfast.testkit.fault;

import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Stands between a store and a listener, and passes on what the network lets through: at most one place and one outcome,
 * however often the request was executed; nothing during a partition, after a loss, or after the ticket was closed.
 */
final class FaultyRegistration implements ClaimListener, ListenerRegistration {

    private final ClaimListener listener;
    private final BooleanSupplier partitioned;
    private final List<ListenerRegistration> tickets = new ArrayList<>();
    private final List<Runnable> withheld = new ArrayList<>();
    private boolean withholding;
    private boolean toldPlace;
    private boolean over;

    FaultyRegistration(ClaimListener listener, BooleanSupplier partitioned) {
        this.listener = listener;
        this.partitioned = partitioned;
    }

    /** Remembers the ticket of an executed request. */
    void add(ListenerRegistration ticket) {
        synchronized (this) {
            tickets.add(ticket);
        }
    }

    /** Tells the listener of a failure; whatever the store says later is lost. */
    void lose(StoreException failure) {
        tell(true, () -> listener.failed(failure));
    }

    /** Keeps back what the store says. */
    synchronized void withhold() {
        withholding = true;
    }

    /** Tells what was kept back. */
    void tellWithheld() {
        List<Runnable> told;
        synchronized (this) {
            withholding = false;
            told = List.copyOf(withheld);
            withheld.clear();
        }
        told.forEach(Runnable::run);
    }

    @Override
    public void waiting(int position, Duration retryAfter) {
        pushed(false, () -> listener.waiting(position, retryAfter));
    }

    @Override
    public void granted(long counter, Duration lease) {
        pushed(true, () -> listener.granted(counter, lease));
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
            closed = List.copyOf(tickets);
        }
        closed.forEach(ListenerRegistration::close);
    }

    private void pushed(boolean outcome, Runnable word) {
        if (!partitioned.getAsBoolean()) {
            tell(outcome, word);
        }
    }

    private void tell(boolean outcome, Runnable word) {
        synchronized (this) {
            boolean heard = outcome ? over : over || toldPlace;
            if (heard) {
                return;
            }
            if (outcome) {
                over = true;
            } else {
                toldPlace = true;
            }
            if (withholding) {
                withheld.add(word);
                return;
            }
        }
        word.run();
    }
}
