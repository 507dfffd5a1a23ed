package dev.holdfast.quorum;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The release of one claim at all nodes at once. It is done when a majority has confirmed it, one way or the other; the other
 * nodes go on in the background, and what they do not confirm is owed to them.
 */
final class Release implements Ballot.Closing {

    private final Nodes nodes;
    private final ClaimTable table;
    private final Claim claim;
    private final Ballot ballot;
    private final boolean wasValid;
    private final CompletableFuture<Released> result = new CompletableFuture<>();
    private final StringBuilder failures = new StringBuilder();
    private int found;
    private int notFound;
    private int open;

    Release(Nodes nodes, ClaimTable table, MonotonicClock clock, Claim claim) {
        this.nodes = nodes;
        this.table = table;
        this.claim = claim;
        this.ballot = table.release(claim);
        this.wasValid = ballot.heldAfter(clock.nanoTime()) != null;
        this.open = nodes.size();
    }

    CompletionStage<Released> run() {
        ballot.release(claim, this);
        return result;
    }

    @Override
    public void released(Node node, boolean wasOwner) {
        synchronized (this) {
            open--;
            if (wasOwner) {
                found++;
            } else {
                notFound++;
            }
        }
        decide();
    }

    @Override
    public void unconfirmed(Node node, String why) {
        synchronized (this) {
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
            } else {
                // Some nodes have not answered. If the claim held until now, they surely kept it; else nobody can say.
                outcome = wasValid && found + notFound >= majority ? Released.ALONE : null;
            }
        }
        if (outcome == null) {
            result.completeExceptionally(StoreException.unavailable(
                    Effect.UNKNOWN,
                    "No majority of the " + nodes.size() + " nodes confirmed the release of \"" + claim.name()
                            + "\" by " + claim.id() + failures,
                    null));
            return;
        }
        if (outcome.wasOwner() && !claim.repeated()) {
            table.wasFound(claim.id());
        }
        result.complete(outcome);
    }
}
