package dev.holdfast.quorum;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The renewal of a batch of claims: one request to each node, all at once, with those claims that the node keeps by what this
 * client knows.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>A claim holds if a majority has renewed it. A node that does not keep a claim, because it was away or has lost its data,
 * is given it anew by an acquisition with the claim's own token, which shows whether the node may be counted. The outcome
 * waits for that only if there is no majority without it, and not if a majority says that the claim is gone: it was broken
 * or has expired, and must not come back.
 */
final class Renewal {

    /** The most claims that one renewal gives to one node anew although they hold without it. Others follow in the next. */
    private static final int MAX_REPAIRS = 64;

    private final Nodes nodes;
    private final Book book;
    private final MonotonicClock clock;
    private final List<Claim> batch;
    private final @Nullable Holding[] holdings;
    /** The answers of each node, by the index of the claim; null is no answer. */
    private final @Nullable Renewed[][] answers;

    private final CompletableFuture<List<Renewed>> result = new CompletableFuture<>();
    private final boolean[] worth;

    Renewal(Nodes nodes, Book book, MonotonicClock clock, List<Claim> batch) {
        this.nodes = nodes;
        this.book = book;
        this.clock = clock;
        this.batch = batch;
        this.holdings = batch.stream().map(claim -> book.get(claim.id())).toArray(Holding[]::new);
        this.answers = new Renewed[nodes.size()][batch.size()];
        this.worth = nodes.worthAsking();
    }

    CompletionStage<List<Renewed>> run() {
        AtomicInteger open = new AtomicInteger(nodes.size());
        for (Node node : nodes) {
            List<Integer> kept = keptBy(node.index());
            if (kept.isEmpty() || !worth[node.index()]) {
                ended(open);
            } else {
                ask(node, kept, open);
            }
        }
        return result;
    }

    // A claim that this client does not know may be kept by any node.
    private List<Integer> keptBy(int node) {
        List<Integer> kept = new ArrayList<>();
        for (int i = 0; i < batch.size(); i++) {
            Holding holding = holdings[i];
            if (holding == null || holding.hasVoted(node)) {
                kept.add(i);
            }
        }
        return kept;
    }

    private void ask(Node node, List<Integer> kept, AtomicInteger open) {
        List<Claim> claims = kept.stream().map(batch::get).toList();
        long sent = clock.nanoTime();
        node.ask(Node.Lane.UPKEEP, store -> store.renew(claims), new OneEnd<List<Renewed>>(() -> ended(open)) {
            @Override
            void in(List<Renewed> renewed) {
                for (int i = 0; i < renewed.size(); i++) {
                    note(node.index(), kept.get(i), sent, renewed.get(i));
                }
            }

            @Override
            void out(@Nullable StoreException cause) {
                StoreException failure = cause == null
                        ? StoreException.unavailable(Effect.UNKNOWN, node + ": no answer in time", null)
                        : cause;
                for (int index : kept) {
                    answers[node.index()][index] = new Renewed.Failed(failure);
                }
            }
        });
    }

    private void note(int node, int index, long sent, Renewed renewed) {
        Holding holding = holdings[index];
        if (holding != null && renewed instanceof Granted && !holding.isLive(node, sent)) {
            return; // It may be from older data that the node was restored from, so it must be given anew.
        }
        answers[node][index] = renewed;
        if (holding != null && renewed instanceof Granted granted) {
            holding.vote(node, sent, granted);
        } else if (holding != null && renewed instanceof Renewed.Gone) {
            holding.gone(node);
        }
    }

    private void ended(AtomicInteger open) {
        if (open.decrementAndGet() == 0) {
            repair();
        }
    }

    // Gives the claims to the nodes that do not keep them, and waits for those without which there is no majority.
    private void repair() {
        AtomicInteger open = new AtomicInteger(1);
        int[] repairs = new int[nodes.size()];
        for (int i = 0; i < batch.size(); i++) {
            Holding holding = holdings[i];
            int held = count(i, Granted.class);
            if (holding == null || held == 0 || count(i, Renewed.Gone.class) >= nodes.majority()) {
                continue;
            }
            for (Node node : nodes) {
                boolean missing = answers[node.index()][i] == null || answers[node.index()][i] instanceof Renewed.Gone;
                boolean needed = held < nodes.majority();
                boolean settled = !node.unsettled().contains(batch.get(i).id());
                if (missing && settled && worth[node.index()] && (needed || repairs[node.index()]++ < MAX_REPAIRS)) {
                    if (needed) {
                        open.incrementAndGet();
                    }
                    give(node, i, holding, needed ? () -> answered(open) : () -> {});
                }
            }
        }
        answered(open);
    }

    private void give(Node node, int index, Holding holding, Runnable end) {
        Claim claim = batch.get(index);
        long sent = clock.nanoTime();
        node.acquire(claim, holding.token(), true, new OneEnd<NodeAttempt>(end) {
            @Override
            void in(NodeAttempt attempt) {
                given(node, index, holding, sent, attempt);
            }

            @Override
            void out(@Nullable StoreException cause) {
                holding.unsure(node.index());
            }
        });
    }

    private void given(Node node, int index, Holding holding, long sent, NodeAttempt attempt) {
        if (!(attempt.attempt() instanceof Granted granted)) {
            if (attempt.attempt() instanceof Attempt.Busy) {
                answers[node.index()][index] = new Renewed.Gone(Reason.TAKEN);
            }
            return;
        }
        boolean counts = node.counts(attempt);
        if (counts) {
            answers[node.index()][index] = granted;
        }
        boolean wanted = counts ? holding.vote(node.index(), sent, granted) : !holding.isClosed();
        if (!wanted) {
            Claim claim = batch.get(index);
            node.release(claim, new Undone(node, claim, () -> {}, () -> {}));
        }
    }

    private void answered(AtomicInteger open) {
        if (open.decrementAndGet() > 0) {
            return;
        }
        List<Renewed> outcomes = new ArrayList<>(batch.size());
        for (int i = 0; i < batch.size(); i++) {
            outcomes.add(outcome(i));
        }
        result.complete(outcomes);
    }

    private Renewed outcome(int index) {
        Holding holding = holdings[index];
        List<Duration> leases = new ArrayList<>();
        long token = holding == null ? 0 : holding.token();
        for (Renewed[] ofNode : answers) {
            if (ofNode[index] instanceof Granted granted) {
                leases.add(granted.lease());
                token = holding == null ? Math.max(token, granted.counter()) : token;
            }
        }
        if (leases.size() >= nodes.majority()) {
            leases.sort(null);
            return new Granted(token, leases.get(leases.size() - nodes.majority()));
        }
        if (count(index, Renewed.Gone.class) + missing(index) > nodes.size() - nodes.majority()) {
            return gone(index);
        }
        return new Renewed.Failed(unavailable(index));
    }

    // Nodes that surely do not keep the claim, as it was never given to them, or too long ago.
    private int missing(int index) {
        int missing = 0;
        for (int node = 0; node < nodes.size(); node++) {
            missing += answers[node][index] == null && holdings[index] != null && worth[node] ? 1 : 0;
        }
        return missing;
    }

    private Renewed gone(int index) {
        Reason reason = Reason.EXPIRED;
        for (Renewed[] ofNode : answers) {
            if (ofNode[index] instanceof Renewed.Gone gone && gone.reason().compareTo(reason) > 0) {
                reason = gone.reason();
            }
        }
        Claim claim = batch.get(index);
        if (holdings[index] != null) {
            // What a minority still keeps would only be in the way of others.
            new Release(nodes, book, clock, claim).run();
        }
        return new Renewed.Gone(reason);
    }

    private StoreException unavailable(int index) {
        StringBuilder text = new StringBuilder("No majority of the " + nodes.size() + " nodes renewed \""
                + batch.get(index).name() + "\" of " + batch.get(index).id());
        for (Node node : nodes) {
            Renewed answer = answers[node.index()][index];
            text.append("; ")
                    .append(node)
                    .append(": ")
                    .append(
                            answer instanceof Renewed.Failed failed
                                    ? failed.cause().getMessage()
                                    : answer instanceof Granted ? "renewed" : answer == null ? "not asked" : "gone");
        }
        return StoreException.unavailable(Effect.UNKNOWN, text.toString(), null);
    }

    private int count(int index, Class<? extends Renewed> kind) {
        int count = 0;
        for (Renewed[] ofNode : answers) {
            count += kind.isInstance(ofNode[index]) ? 1 : 0;
        }
        return count;
    }
}
