package dev.holdfast.quorum;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * The releases that one node has not confirmed. They are repeated, one after the other, when the node answers again. What is
 * dropped, because there are too many, ends with its lease. Thread-safe.
 */
final class OwedReleases {

    /** The most releases that are kept for one node. */
    static final int MAX = 10_000;

    private final Node node;
    private final Deque<Claim> claims = new ArrayDeque<>();
    private boolean paying;

    OwedReleases(Node node) {
        this.node = node;
    }

    /** Notes a claim that this node may keep, or that may still reach it, although it is released. */
    void owe(Claim claim) {
        synchronized (this) {
            node.unsettled().begin(claim.id());
            if (claims.size() >= MAX) {
                node.unsettled().end(claims.removeFirst().id());
            }
            // A request that is on its way may arrive after the release.
            claims.addLast(claim.again());
        }
        pay();
    }

    /** Begins to repeat the releases. */
    void pay() {
        synchronized (this) {
            if (paying || !node.isInRotation()) {
                return;
            }
            paying = true;
        }
        payNext();
    }

    synchronized int size() {
        return claims.size();
    }

    private void payNext() {
        Claim next = next();
        if (next != null) {
            node.release(next, new Payment(next));
        }
    }

    private synchronized @Nullable Claim next() {
        Claim next = node.isClosed() ? null : claims.pollFirst();
        paying = next != null;
        return next;
    }

    private synchronized void failed(Claim claim) {
        paying = false;
        claims.addFirst(claim);
    }

    private final class Payment implements Reply<Released> {

        private final Claim claim;

        private Payment(Claim claim) {
            this.claim = claim;
        }

        @Override
        public void answered(Released released) {
            node.unsettled().end(claim.id());
            payNext();
        }

        // Also the first answer of a node that returns to the rotation begins again.
        @Override
        public void failed(StoreException cause) {
            if (cause.retryable()) {
                OwedReleases.this.failed(claim);
                node.later(OwedReleases.this::pay);
            } else {
                node.unsettled().end(claim.id());
                payNext();
            }
        }

        @Override
        public void overdue() {}
    }
}
