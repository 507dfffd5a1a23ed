package dev.holdfast.quorum;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreException;
import java.util.concurrent.atomic.AtomicBoolean;

/** The answer of a node to the release of something that it should not keep. What it does not confirm is owed to it. */
final class Undone implements Reply<Released> {

    private final Node node;
    private final Claim claim;
    private final Runnable confirmed;
    private final Runnable unconfirmed;
    private final AtomicBoolean ended = new AtomicBoolean();

    /** One of {@code confirmed} and {@code unconfirmed} runs, once. */
    Undone(Node node, Claim claim, Runnable confirmed, Runnable unconfirmed) {
        this.node = node;
        this.claim = claim;
        this.confirmed = confirmed;
        this.unconfirmed = unconfirmed;
        node.unsettled().begin(claim.id());
    }

    @Override
    public void answered(Released released) {
        node.unsettled().end(claim.id());
        if (ended.compareAndSet(false, true)) {
            confirmed.run();
        }
    }

    @Override
    public void failed(StoreException cause) {
        node.owed().owe(claim);
        node.unsettled().end(claim.id());
        if (ended.compareAndSet(false, true)) {
            unconfirmed.run();
        }
    }

    @Override
    public void overdue() {
        if (ended.compareAndSet(false, true)) {
            unconfirmed.run();
        }
    }
}
