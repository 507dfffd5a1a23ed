package dev.holdfast.quorum;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The release of one claim at all nodes at once. It is done when a majority has confirmed it, one way or the other; the other
 * nodes go on in the background, and what they do not confirm is owed to them.
 */
final class Release {

    private final Nodes nodes;
    private final Claim claim;
    private final @Nullable Holding holding;
    private final boolean wasValid;
    private final CompletableFuture<Released> result = new CompletableFuture<>();
    private final boolean[] ended;
    private final StringBuilder failures = new StringBuilder();
    private int found;
    private int notFound;
    private int open;

    Release(Nodes nodes, Book book, MonotonicClock clock, Claim claim) {
        this.nodes = nodes;
        this.claim = claim;
        this.holding = book.close(claim.id());
        this.wasValid = holding != null && holding.isHeld(nodes.majority(), clock.nanoTime());
        this.ended = new boolean[nodes.size()];
        this.open = nodes.size();
    }

    CompletionStage<Released> run() {
        boolean[] worth = nodes.worthAsking();
        for (Node node : nodes) {
            Claim there = holding == null ? claim : holding.toRelease(node.index(), claim);
            if (worth[node.index()]) {
                node.release(there, new Answer(node, there));
            } else {
                node.owed().owe(there);
                ended(node, "it did not answer " + Node.MISSES + " calls in a row");
            }
        }
        return result;
    }

    private final class Answer implements Reply<Released> {

        private final Node node;
        private final Claim there;

        private Answer(Node node, Claim there) {
            this.node = node;
            this.there = there;
        }

        @Override
        public void answered(Released released) {
            synchronized (Release.this) {
                if (ended[node.index()]) {
                    return;
                }
                ended[node.index()] = true;
                open--;
                if (released.wasOwner()) {
                    found++;
                } else {
                    notFound++;
                }
            }
            decide();
        }

        @Override
        public void failed(StoreException cause) {
            node.owed().owe(there);
            ended(node, String.valueOf(cause.getMessage()));
        }

        @Override
        public void overdue() {
            ended(node, "no answer in time");
        }
    }

    private void ended(Node node, String why) {
        synchronized (this) {
            if (ended[node.index()]) {
                return;
            }
            ended[node.index()] = true;
            open--;
            failures.append("; ").append(node).append(": ").append(why);
        }
        decide();
    }

    private void decide() {
        Released outcome;
        synchronized (this) {
            int majority = nodes.majority();
            if (found >= majority) {
                outcome = Released.ALONE;
            } else if (notFound > nodes.size() - majority) {
                outcome = Released.NOT_OWNER;
            } else if (open > 0) {
                return;
            } else if (found + notFound < majority) {
                outcome = null;
            } else {
                // Some that surely kept it did not answer.
                outcome = wasValid ? Released.ALONE : Released.NOT_OWNER;
            }
        }
        if (outcome != null) {
            result.complete(outcome);
            return;
        }
        result.completeExceptionally(StoreException.unavailable(
                Effect.UNKNOWN,
                "No majority of the " + nodes.size() + " nodes confirmed the release of \"" + claim.name() + "\" by "
                        + claim.id() + failures,
                null));
    }
}
