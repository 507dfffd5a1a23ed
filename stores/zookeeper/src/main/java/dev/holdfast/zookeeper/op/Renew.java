package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.zookeeper.claim.ClaimState;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.NodeData;
import dev.holdfast.zookeeper.node.NodeName;
import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * Renews claims. One transaction that changes nothing, to which a majority of the servers agrees, proves that the
 * session is alive. What the claims need beside it to be believed:
 *
 * <ul>
 *   <li>a claim that holds: that the watch on its own node is live when the transaction is answered. That needs no request. If
 *       the watch is not live, the node is read in the same round trip, which watches it from then on;
 *   <li>a claim far back in a queue: it reads its own node and the one that it watches, so that a queue of many clients is
 *       not read as often as it is long;
 *   <li>all others: a list of the children of the parent node, one for all claims below it. It also shows what the other
 *       checks have missed: a node that was replaced, a claim whose turn has come, or who holds instead.
 * </ul>
 *
 * <p>Why a live watch is enough: the server that answers the transaction has made all changes before it, and has sent their
 * events before the answer. So a node whose watch is still live after the answer was there when the majority agreed, and
 * with it the session. A watch is not live any more as soon as the connection has an event of its own, so nothing is believed
 * after a reconnect until the node was read again, on a server that knows at least what this client has seen.
 *
 * <p>A sweep for orphans runs with each renewal.
 */
public final class Renew {

    /**
     * The maximum number of claims below one parent node that check two nodes each. The parent node is listed once for more
     * claims, or for one that is nearer to the head of the queue, because its position must be exact.
     */
    static final int MAX_FAR = Renewed.Waiting.FAR;

    /**
     * A server that has not answered a renewal for this part of the session's guaranteed lifetime is left for another one.
     * The renewal was sent when at least two thirds of that lifetime were left, so time is left to repeat it.
     */
    private static final int SILENT_PART = 4;

    /** Stands for a list whose reply has not arrived yet. */
    private static final Reply<List<String>> NOT_ANSWERED = new Reply<>(Code.CONNECTIONLOSS, null, "");

    private final StoreContext context;
    private final PredecessorWatch predecessorWatch;
    /** Whether a renewal was answered since a server was left: if all are slow, leaving more of them only costs time. */
    private final AtomicBoolean mayLeave = new AtomicBoolean(true);

    public Renew(StoreContext context, PredecessorWatch predecessorWatch) {
        this.context = context;
        this.predecessorWatch = predecessorWatch;
    }

    public CompletionStage<List<Renewed>> renew(List<Claim> batch) {
        if (batch.isEmpty()) {
            return CompletableFuture.completedStage(List.of());
        }
        SessionClient client = context.sessions().current();
        CompletionStage<Reply<String>> confirmed =
                client.confirm(context.paths().root());
        leaveServerIfSilent(client, confirmed.toCompletableFuture());
        CompletionStage<Findings> checks = check(client, batch);
        updateData(client, batch);
        context.orphans().sweep(client);
        return confirmed.thenCombine(checks, Replies::new).thenCompose(replies -> {
            if (!replies.confirmed().isOk() && !replies.confirmed().isMissing()) {
                throw replies.confirmed().failure();
            }
            Findings findings = replies.findings();
            believeLiveWatches(findings);
            return listMissed(client, batch, findings).thenApply(complete -> answers(client, batch, complete));
        });
    }

    private void leaveServerIfSilent(SessionClient client, CompletableFuture<Reply<String>> confirmed) {
        Duration patience = context.sessions().guaranteedLifetime(client).dividedBy(SILENT_PART);
        context.timer().after(patience, () -> {
            if (!confirmed.isDone() && mayLeave.compareAndSet(true, false)) {
                context.sessions().leaveServer(client);
            }
        });
        confirmed.thenAccept(reply -> {
            if (reply.isOk() || reply.isMissing()) {
                mayLeave.set(true);
            }
        });
    }

    private record Replies(Reply<String> confirmed, Findings findings) {}

    /**
     * What the checks have shown.
     *
     * @param held the claims that hold, and whose nodes are watched or were read
     * @param present the claims that were found to be as they were
     * @param lists the children of parent nodes
     */
    private record Findings(List<ClaimState> held, Set<ClaimId> present, Map<String, Reply<List<String>>> lists) {}

    // ---- the checks ----

    private CompletionStage<Findings> check(SessionClient client, List<Claim> batch) {
        List<ClaimState> held = new ArrayList<>();
        Set<String> parents = new LinkedHashSet<>();
        Map<String, List<ClaimState>> waiting = new HashMap<>();
        for (Claim claim : batch) {
            ClaimState claimState = own(client, claim);
            if (claimState == null) {
                parents.add(context.paths().parent(claim.name()));
            } else if (claimState.state() == ClaimState.State.WAITING) {
                waiting.computeIfAbsent(claimState.parent(), unused -> new ArrayList<>())
                        .add(claimState);
            } else {
                held.add(claimState);
            }
        }
        List<ClaimState> far = farAndFew(waiting, parents);
        CompletionStage<Set<ClaimId>> present = CompletableFuture.completedStage(new HashSet<>());
        for (ClaimState claimState : held) {
            if (!predecessorWatch.isSurelyThere(claimState)) {
                present = present.thenCombine(
                        predecessorWatch.readOwn(client, claimState), (found, believedIfWatched) -> found);
            }
        }
        for (ClaimState claimState : far) {
            present = present.thenCombine(predecessorWatch.isUnchanged(client, claimState), (found, unchanged) -> {
                if (unchanged) {
                    found.add(claimState.id());
                }
                return found;
            });
        }
        return present.thenCombine(list(client, parents), (found, lists) -> new Findings(held, found, lists));
    }

    // Returns the claims that read two nodes each. The parent nodes of all others that wait are added to those to list.
    private static List<ClaimState> farAndFew(Map<String, List<ClaimState>> waiting, Set<String> parents) {
        List<ClaimState> far = new ArrayList<>();
        waiting.forEach((parent, claims) -> {
            if (parents.contains(parent)
                    || claims.size() > MAX_FAR
                    || !claims.stream().allMatch(Renew::isFar)) {
                parents.add(parent);
            } else {
                far.addAll(claims);
            }
        });
        return far;
    }

    private static boolean isFar(ClaimState waiting) {
        return waiting.position() >= Renewed.Waiting.FAR && waiting.watched() != null;
    }

    // A claim of this session whose node is known. One that was sent twice may have another node, so it is searched.
    private @Nullable ClaimState own(SessionClient client, Claim claim) {
        ClaimState claimState = context.claims().find(claim.id());
        return claimState == null
                        || claimState.path() == null
                        || claimState.session() != client.session()
                        || claimState.claim().repeated()
                        || (claimState.state() != ClaimState.State.HELD
                                && claimState.state() != ClaimState.State.WAITING)
                ? null
                : claimState;
    }

    // Only now that the transaction is answered: an event that has come before the answer counts.
    private void believeLiveWatches(Findings findings) {
        for (ClaimState claimState : findings.held()) {
            if (predecessorWatch.isSurelyThere(claimState)) {
                findings.present().add(claimState.id());
            }
        }
    }

    // All lists are sent at once. Replies arrive in order, so the last stage completes after all others.
    private static CompletionStage<Map<String, Reply<List<String>>>> list(
            SessionClient client, Collection<String> parents) {
        Map<String, Reply<List<String>>> lists = new ConcurrentHashMap<>();
        CompletionStage<Map<String, Reply<List<String>>>> last = CompletableFuture.completedStage(lists);
        for (String parent : parents) {
            last = client.children(parent).thenApply(reply -> {
                lists.put(parent, reply);
                return lists;
            });
        }
        return last;
    }

    // The parent nodes of claims that were not found as they were are listed before these are reported as gone.
    private CompletionStage<Findings> listMissed(SessionClient client, List<Claim> batch, Findings findings) {
        Set<String> parents = new LinkedHashSet<>();
        for (Claim claim : batch) {
            String parent = context.paths().parent(claim.name());
            if (!findings.present().contains(claim.id()) && !findings.lists().containsKey(parent)) {
                parents.add(parent);
            }
        }
        if (parents.isEmpty()) {
            return CompletableFuture.completedStage(findings);
        }
        return list(client, parents).thenApply(more -> {
            findings.lists().putAll(more);
            return findings;
        });
    }

    // Owners and leases that have changed are written to the nodes, so that inspect shows them.
    private void updateData(SessionClient client, List<Claim> batch) {
        for (Claim claim : batch) {
            ClaimState claimState = context.claims().find(claim.id());
            String path = claimState == null ? null : claimState.path();
            if (claimState != null
                    && path != null
                    && claimState.session() == client.session()
                    && claimState.differsFrom(claim)) {
                NodeData data = claimState.data();
                client.setData(
                        path, new NodeData(claim.lease(), data.counter(), data.granted(), claim.owner()).bytes());
                if (claimState.data().granted() != data.granted()) {
                    // It was marked meanwhile, and this would undo it.
                    predecessorWatch.writeMark(client, claimState, path);
                }
            }
        }
    }

    // ---- the answers ----

    private List<Renewed> answers(SessionClient client, List<Claim> batch, Findings findings) {
        Map<String, AdmissionQueue> queues = new HashMap<>();
        List<Renewed> answers = new ArrayList<>(batch.size());
        for (Claim claim : batch) {
            ClaimState claimState = context.claims().find(claim.id());
            if (claimState != null && findings.present().contains(claim.id())) {
                answers.add(stillPresent(client, claimState, claim));
                continue;
            }
            String parent = context.paths().parent(claim.name());
            Reply<List<String>> list = findings.lists().getOrDefault(parent, NOT_ANSWERED);
            if (list.isOk() || list.isMissing()) {
                AdmissionQueue queue = queues.computeIfAbsent(
                        parent, unused -> list.isOk() ? AdmissionQueue.of(list.get()) : AdmissionQueue.EMPTY);
                answers.add(answer(client, claim, queue));
            } else {
                answers.add(new Renewed.Failed(list.failure()));
            }
        }
        return answers;
    }

    private Renewed answer(SessionClient client, Claim claim, AdmissionQueue queue) {
        ClaimState claimState = context.claims().find(claim.id());
        NodeName own = claimState == null ? null : claimState.node();
        if (claimState == null || own == null || claimState.state() == ClaimState.State.SENT) {
            return unknown(claim, queue);
        }
        if (claimState.session() != client.session()) {
            context.claims().end(claimState, Reason.EXPIRED);
            // Curator may have given up a session that the server still keeps. Deletes the node, so that nobody
            // waits for its end.
            context.orphans().removeLater(claimState.parent() + '/' + own.text());
            return new Renewed.Gone(queue.isTaken(claim) ? Reason.TAKEN : Reason.EXPIRED);
        }
        if (queue.indexOf(own) < 0) {
            // The session is alive, so another client deleted the node.
            context.claims().end(claimState, Reason.RELEASED);
            return new Renewed.Gone(Reason.RELEASED);
        }
        if (claimState.claim().repeated()) {
            queue.of(claim.id()).stream()
                    .filter(node -> !node.isOfSameClaim(own))
                    .forEach(copy -> context.orphans().remove(client, claimState.parent() + '/' + copy.text()));
        }
        predecessorWatch.evaluate(client, claimState, queue);
        return stillPresent(client, claimState, claim);
    }

    private Renewed stillPresent(SessionClient client, ClaimState claimState, Claim claim) {
        long now = context.now();
        ClaimState.State state = claimState.state();
        claimState.renew(claim, now);
        return switch (state) {
            case HELD -> {
                context.leaseExpiry().track(claimState);
                yield new Granted(
                        claimState.counter(),
                        claimState.reportedLease(now, context.sessions().guaranteedLifetime(client)));
            }
            case WAITING -> new Renewed.Waiting(claimState.position(), Duration.ZERO);
            case SENT, OVER -> new Renewed.Gone(Reason.RELEASED);
        };
    }

    private Renewed unknown(Claim claim, AdmissionQueue queue) {
        if (context.claims().hasTombstone(claim.id())) {
            return new Renewed.Gone(Reason.RELEASED);
        }
        if (!queue.of(claim.id()).isEmpty()) {
            return new Renewed.Failed(StoreException.unavailable(
                    Effect.NONE,
                    "Claim " + claim.id() + " of \"" + claim.name()
                            + "\" was made by another client, or is just being sent: only its own session renews it",
                    null));
        }
        return new Renewed.Gone(queue.isTaken(claim) ? Reason.TAKEN : Reason.EXPIRED);
    }
}
