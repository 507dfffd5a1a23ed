package dev.holdfast.quorum;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The renewal of a batch of claims.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>First each node is asked, once and all at once, to renew those claims that it keeps by what this client knows. When a majority
 * has renewed all of them, the outcome is known, and what the other nodes answer is noted later. Then a claim
 * is given to nodes that do not keep it, because they were away or their vote has ended, by an acquisition with its own token,
 * which shows whether the node may be counted. The outcome waits for that only if there is no majority without it. A node
 * that is {@linkplain Ballot barred} is not given the claim. A node that has not confirmed a downgrade is asked for it again.
 *
 * <p>A claim holds if a majority has renewed it. It is gone if so many nodes cannot keep it that no majority is left, or if its
 * majority has ended by the local clock: then it is not revived, and the nodes are asked only to say why. A node that is
 * slow or fails says neither, and without a majority for one or the other the outcome is unknown.
 */
final class Renewal {

    /** The most claims that one renewal gives to one node anew although they hold without it. Others follow in the next. */
    private static final int MAX_REPAIRS = 64;

    private final Nodes nodes;
    private final MonotonicClock clock;
    private final Duration useful;
    private final long sent;
    private final List<Item> items;
    private final boolean[] worth;
    private final CompletableFuture<List<Renewed>> result = new CompletableFuture<>();

    /** @param useful how long a node is waited for, if that is shorter than its time limit */
    Renewal(Nodes nodes, ClaimTable table, MonotonicClock clock, Duration useful, List<Claim> batch) {
        this.nodes = nodes;
        this.clock = clock;
        this.useful = useful;
        this.sent = clock.nanoTime();
        this.worth = nodes.worthAsking();
        this.items = batch.stream().map(claim -> new Item(claim, table)).toList();
    }

    /** One claim of the batch. */
    private final class Item {

        private final Claim claim;
        /** What this client holds by it; null if it is not known here, so that any node may keep it. */
        private final @Nullable Ballot ballot;
        /** Why it does not hold, by what this client knows; null if it may hold. The nodes may know better why. */
        private final @Nullable Reason over;
        /** The answers of the nodes; null is none. */
        private final @Nullable Renewed[] answers = new Renewed[nodes.size()];

        private final int[] grants = new int[nodes.size()];

        private Item(Claim claim, ClaimTable table) {
            this.ballot = table.holding(claim.id());
            boolean mayHold = ballot != null && ballot.mayHold();
            this.over = mayHold ? null : ballot == null ? table.gone(claim.id()) : Reason.EXPIRED;
            this.claim = ballot == null ? claim : ballot.inner(claim);
        }

        private boolean isKeptBy(Node node) {
            return ballot == null || over != null || ballot.isLive(node, sent);
        }

        private Claim asked(Node node) {
            grants[node.index()] = ballot == null ? 0 : ballot.grants(node);
            return claim;
        }

        private int count(Class<? extends Renewed> kind) {
            return (int) Arrays.stream(answers).filter(kind::isInstance).count();
        }

        private void note(Node node, Renewed renewed) {
            if (ballot != null && renewed instanceof Renewed.Gone gone) {
                ballot.isGone(node, grants[node.index()], gone.reason() == Reason.RELEASED);
            }
            boolean proves = ballot == null
                    || over != null
                    || !(renewed instanceof Granted granted)
                    || ballot.renewed(node, sent, granted);
            answers[node.index()] = proves ? renewed : null;
        }

        /** Whether the node does not keep the claim, but could. */
        private boolean isMissingAt(Node node) {
            return ballot != null
                    && over == null
                    && !ballot.hasLapsed()
                    && answers[node.index()] == null
                    && worth[node.index()]
                    && !ballot.isAsked(node)
                    && !ballot.isBarred(node, clock.nanoTime());
        }

        private boolean isTooLargeAt(Node node) {
            return ballot != null
                    && answers[node.index()] instanceof Granted
                    && !ballot.isAsked(node)
                    && ballot.keepsMore(node, claim.permits());
        }

        private void give(Node node, Ballot to, Runnable end) {
            to.acquire(node, claim, to.token(), true, sent, new OneEnd<Ballot.Answer>(end) {
                @Override
                void in(Ballot.Answer answer) {
                    answers[node.index()] = switch (answer.vote()) {
                        case COUNTED -> (Granted) answer.attempt().attempt();
                        case BUSY -> occupied(node, to);
                        case YOUNG, LOST -> new Renewed.Gone(Reason.EXPIRED);
                    };
                }

                @Override
                void out(@Nullable StoreException cause) {
                    answers[node.index()] =
                            cause instanceof KindConflictException ? occupied(node, to) : unanswered(node, cause);
                }
            });
        }

        // Without this node there is no majority. After a break it may have a tombstone of the claim, or keep
        // that of another client, which may hold. If data were lost, others cannot hold while the votes of this
        // claim last, and soon go away.
        private Renewed occupied(Node node, Ballot ballot) {
            return ballot.isBroken()
                    ? new Renewed.Gone(Reason.TAKEN)
                    : new Renewed.Failed(StoreException.unavailable(
                            Effect.NONE, node + ": another claim is there at the moment", null));
        }

        /** What the claim has if a majority has renewed it; else null. */
        private @Nullable Renewed held() {
            if (isOver() || count(Granted.class) < nodes.majority()) {
                return null;
            }
            return ballot == null ? heldByAnother() : held(ballot);
        }

        private boolean isOver() {
            return over != null
                    || (ballot != null && ballot.hasLapsed()); // this process may have been paused meanwhile
        }

        private Renewed outcome() {
            if (isOver()) {
                return isGone(false);
            }
            Renewed held = held();
            if (held != null) {
                return held;
            }
            int lost = 0;
            for (Node node : nodes) {
                lost += cannotKeep(node) ? 1 : 0;
            }
            return nodes.size() - lost < nodes.majority() ? isGone(ballot != null) : new Renewed.Failed(unavailable());
        }

        private boolean cannotKeep(Node node) {
            Renewed answer = answers[node.index()];
            return answer instanceof Renewed.Gone
                    || (answer == null && ballot != null && ballot.isBarred(node, clock.nanoTime()));
        }

        private @Nullable Renewed held(Ballot held) {
            Duration lease = held.heldAfter(sent);
            return lease == null ? null : new Granted(held.token(), lease);
        }

        private Renewed heldByAnother() {
            List<Granted> granted = Arrays.stream(answers)
                    .filter(Granted.class::isInstance)
                    .map(Granted.class::cast)
                    .toList();
            return new Granted(
                    nodes.token(granted.stream().map(Granted::counter)),
                    nodes.reached(granted.stream().map(Granted::lease)));
        }

        private Renewed isGone(boolean wasHeld) {
            // Nothing but a break leaves a tombstone where a vote lasts.
            boolean wasBroken = wasHeld && ballot != null && ballot.isBroken();
            if (ballot != null) {
                // What a minority still keeps would only be in the way of others.
                ballot.close(claim.repeated(), false, Ballot.NOBODY);
            }
            List<Reason> reasons = Arrays.stream(answers)
                    .filter(Renewed.Gone.class::isInstance)
                    .map(answer -> ((Renewed.Gone) Objects.requireNonNull(answer)).reason())
                    .collect(Collectors.toCollection(ArrayList::new));
            if (wasBroken) {
                return new Renewed.Gone(Reason.RELEASED);
            }
            // A tombstone at fewer nodes may be that of a request which was overtaken by its release.
            if (Collections.frequency(reasons, Reason.RELEASED) < nodes.majority()) {
                reasons.removeIf(reason -> reason == Reason.RELEASED);
            }
            // Who has it instead has a majority. Fewer nodes may keep a claim whose release has not reached them yet.
            if (nodes.size() - Collections.frequency(reasons, Reason.EXPIRED) < nodes.majority()) {
                reasons.removeIf(reason -> reason == Reason.TAKEN);
            }
            reasons.add(over == null ? Reason.EXPIRED : over);
            return new Renewed.Gone(Collections.max(reasons));
        }

        private StoreException unavailable() {
            StringBuilder text = new StringBuilder(
                    "No majority of the " + nodes.size() + " nodes renewed \"" + claim.name() + "\" of " + claim.id());
            for (Node node : nodes) {
                Renewed answer = answers[node.index()];
                text.append("; ")
                        .append(node)
                        .append(": ")
                        .append(
                                answer instanceof Renewed.Failed failed
                                        ? failed.cause().getMessage()
                                        : answer instanceof Granted
                                                ? "renewed"
                                                : answer == null ? "not asked" : "gone");
            }
            return StoreException.unavailable(Effect.UNKNOWN, text.toString(), null);
        }
    }

    CompletionStage<List<Renewed>> run() {
        AtomicInteger open = new AtomicInteger(nodes.size());
        Runnable end = () -> {
            if (open.decrementAndGet() == 0) {
                give();
            }
        };
        for (Node node : nodes) {
            List<Item> kept = items.stream().filter(item -> item.isKeptBy(node)).toList();
            if (kept.isEmpty() || !worth[node.index()]) {
                end.run();
            } else {
                ask(node, kept, end);
            }
        }
        return result;
    }

    private void ask(Node node, List<Item> kept, Runnable end) {
        List<Claim> claims = kept.stream().map(item -> item.asked(node)).toList();
        node.ask(Node.Lane.UPKEEP, useful, store -> store.renew(claims), new OneEnd<List<Renewed>>(end) {
            @Override
            void in(List<Renewed> renewed) {
                List<Renewed> held;
                synchronized (items) {
                    for (int i = 0; i < renewed.size(); i++) {
                        kept.get(i).note(node, renewed.get(i));
                    }
                    held = heldByNow();
                }
                if (held.size() == items.size()) {
                    result.complete(held);
                }
            }

            @Override
            void out(@Nullable StoreException cause) {
                Renewed failed = unanswered(node, cause);
                synchronized (items) {
                    kept.forEach(item -> item.answers[node.index()] = failed);
                }
            }
        });
    }

    // Up to the first claim of which nobody knows yet. What this client does not know, any node may know better.
    private List<Renewed> heldByNow() {
        List<Renewed> all = new ArrayList<>(items.size());
        for (Item item : items) {
            Renewed held = item.ballot == null ? null : item.held();
            if (held == null) {
                return all;
            }
            all.add(held);
        }
        return all;
    }

    private static Renewed unanswered(Node node, @Nullable StoreException cause) {
        return new Renewed.Failed(
                cause == null ? StoreException.unavailable(Effect.UNKNOWN, node + ": no answer in time", null) : cause);
    }

    // Gives the claims to the nodes that do not keep them, and waits for those without which there is no majority.
    private void give() {
        AtomicInteger open = new AtomicInteger(1);
        Runnable end = () -> {
            if (open.decrementAndGet() == 0 && !result.isDone()) {
                result.complete(items.stream().map(Item::outcome).toList());
            }
        };
        int[] repairs = new int[nodes.size()];
        for (Item item : items) {
            Ballot ballot = item.ballot;
            List<Node> missing = new ArrayList<>();
            nodes.forEach(node -> {
                if (item.isMissingAt(node)) {
                    missing.add(node);
                } else if (ballot != null && item.isTooLargeAt(node) && repairs[node.index()]++ < MAX_REPAIRS) {
                    ballot.acquire(node, item.claim, ballot.token(), false, sent, Ignored.reply());
                }
            });
            int held = item.count(Granted.class);
            boolean needed = held < nodes.majority();
            if (ballot == null || held + missing.size() < nodes.majority()) {
                continue;
            }
            for (Node node : missing) {
                if (needed) {
                    open.incrementAndGet();
                    item.give(node, ballot, end);
                } else if (repairs[node.index()]++ < MAX_REPAIRS) {
                    ballot.acquire(node, item.claim, ballot.token(), true, sent, Ignored.reply());
                }
            }
        }
        end.run();
    }
}
