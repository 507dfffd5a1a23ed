package dev.holdfast.quorum;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The releases that one node has not confirmed. They are repeated, one after the other, when the node answers again. What is
 * dropped, because there are too many, or the node refuses, ends with its lease or when it is released again. Thread-safe.
 */
final class OwedReleases {

    /** The most releases that are kept for one node. */
    static final int MAX = 10_000;

    private final Node node;
    private final Deque<Owed> queue = new ArrayDeque<>();
    private final AtomicInteger turns = new AtomicInteger();
    private boolean paying;

    private record Owed(Claim claim, Consumer<Boolean> ended) {}

    OwedReleases(Node node) {
        this.node = node;
    }

    /**
     * Notes a claim that this node may keep, or that may still reach it, although it is released.
     *
     * @param ended is called in the end, with true if the node has confirmed it; else it has refused it, or it was dropped
     */
    void owe(Claim claim, Consumer<Boolean> ended) {
        Owed dropped;
        synchronized (this) {
            dropped = queue.size() >= MAX ? queue.removeFirst() : null;
            queue.addLast(new Owed(claim, ended));
        }
        if (dropped != null) {
            dropped.ended().accept(false);
        }
        pay();
    }

    /** Begins to repeat the releases. */
    void pay() {
        // A node may answer at once, on this thread: a loop takes turns, because a recursion could become too deep.
        if (turns.getAndIncrement() == 0) {
            do {
                payNext();
            } while (turns.decrementAndGet() > 0);
        }
    }

    synchronized int size() {
        return queue.size() + (paying ? 1 : 0);
    }

    private void payNext() {
        Owed next;
        synchronized (this) {
            if (paying || queue.isEmpty() || node.isClosed() || !node.isInRotation()) {
                return;
            }
            next = queue.removeFirst();
            paying = true;
        }
        node.release(next.claim(), new Payment(next));
    }

    private synchronized void paused(@Nullable Owed unpaid) {
        paying = false;
        if (unpaid != null) {
            queue.addFirst(unpaid);
        }
    }

    private final class Payment implements Reply<Released> {

        private final Owed owed;

        private Payment(Owed owed) {
            this.owed = owed;
        }

        @Override
        public void answered(Released released) {
            ended(true);
        }

        // Also the first answer of a node that returns to the rotation begins again.
        @Override
        public void failed(StoreException cause) {
            if (cause.retryable()) {
                paused(owed);
                node.later(OwedReleases.this::pay);
            } else {
                ended(false);
            }
        }

        private void ended(boolean confirmed) {
            paused(null);
            owed.ended().accept(confirmed);
            pay();
        }

        @Override
        public void overdue() {}
    }
}
