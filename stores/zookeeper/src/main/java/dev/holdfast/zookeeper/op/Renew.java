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
import dev.holdfast.zookeeper.session.SessionNodes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * Renews claims. One transaction that changes nothing, to which a majority of the servers agrees, proves that the
 * session is alive. The requests that check whether the claims still exist follow in the same round trip: for claims that hold, if they are many, lists of
 * the session's own nodes, and for each other claim a list of the children of its parent node. A sweep for orphans
 * runs with each renewal.
 */
public final class Renew {

    /** Stands for a list whose reply has not arrived yet. */
    private static final Reply<List<String>> NOT_ANSWERED = new Reply<>(Code.CONNECTIONLOSS, null, "");

    private final StoreContext context;
    private final PredecessorWatch predecessorWatch;
    private final SessionNodes sessionNodes = new SessionNodes();

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
        Map<ClaimId, String> held = heldPaths(client, batch);
        CompletionStage<Map<String, List<String>>> own = held.isEmpty()
                ? CompletableFuture.completedStage(Map.of())
                : sessionNodes.find(client, held.values(), paths());
        CompletionStage<Map<String, Reply<List<String>>>> lists = list(
                client,
                batch.stream().filter(claim -> !held.containsKey(claim.id())).toList());
        updateData(client, batch);
        context.orphans().sweep(client);
        return confirmed
                .thenCombine(own, Replies::new)
                .thenCombine(lists, (replies, listed) -> {
                    if (!replies.confirmed().isOk() && !replies.confirmed().isMissing()) {
                        throw replies.confirmed().failure();
                    }
                    return answersOrSearch(client, batch, held, replies.own(), listed);
                })
                .thenCompose(stage -> stage);
    }

    private record Replies(Reply<String> confirmed, Map<String, List<String>> own) {}

    // The paths of held claims that are found by prefix; empty if all parent nodes are listed instead.
    private Map<ClaimId, String> heldPaths(SessionClient client, List<Claim> batch) {
        Map<ClaimId, String> held = new HashMap<>();
        if (sessionNodes.isWorthwhile(batch.size(), context.claims().count())) {
            for (Claim claim : batch) {
                ClaimState claimState = context.claims().find(claim.id());
                String path = claimState == null ? null : claimState.path();
                if (claimState != null
                        && path != null
                        && claimState.state() == ClaimState.State.HELD
                        && claimState.session() == client.session()) {
                    held.put(claim.id(), path);
                }
            }
        }
        return held.size() < SessionNodes.MIN_NODES ? Map.of() : held;
    }

    private List<String> paths() {
        return context.claims().all().stream()
                .map(ClaimState::path)
                .filter(Objects::nonNull)
                .toList();
    }

    // All lists are sent at once. Replies arrive in order, so the last stage completes after all others.
    private CompletionStage<Map<String, Reply<List<String>>>> list(SessionClient client, List<Claim> claims) {
        Map<String, Reply<List<String>>> lists = new ConcurrentHashMap<>();
        CompletionStage<Map<String, Reply<List<String>>>> last = CompletableFuture.completedStage(lists);
        for (Claim claim : claims) {
            String parent = context.paths().parent(claim.name());
            if (lists.putIfAbsent(parent, NOT_ANSWERED) == null) {
                last = client.children(parent).thenApply(reply -> {
                    lists.put(parent, reply);
                    return lists;
                });
            }
        }
        return last;
    }

    // A claim that was not found by prefix is searched below its parent node before it is reported as gone.
    private CompletionStage<List<Renewed>> answersOrSearch(
            SessionClient client,
            List<Claim> batch,
            Map<ClaimId, String> held,
            Map<String, List<String>> own,
            Map<String, Reply<List<String>>> lists) {
        Map<ClaimId, AdmissionQueue> confirmed = new HashMap<>();
        Map<String, AdmissionQueue> queues = new HashMap<>();
        List<Claim> missed = new ArrayList<>();
        for (Claim claim : batch) {
            String path = held.get(claim.id());
            if (path != null) {
                String parent = context.paths().parent(claim.name());
                AdmissionQueue queue =
                        queues.computeIfAbsent(parent, key -> AdmissionQueue.of(own.getOrDefault(key, List.of())));
                if (queue.indexOf(path.substring(parent.length() + 1)) >= 0) {
                    confirmed.put(claim.id(), queue);
                } else {
                    missed.add(claim);
                }
            }
        }
        if (missed.isEmpty()) {
            return CompletableFuture.completedStage(answers(client, batch, confirmed, lists));
        }
        return list(client, missed).thenApply(more -> {
            if (confirmed.isEmpty() && more.values().stream().anyMatch(Reply::isOk)) {
                sessionNodes.disable();
            }
            Map<String, Reply<List<String>>> all = new HashMap<>(lists);
            all.putAll(more);
            return answers(client, batch, confirmed, all);
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
            }
        }
    }

    private List<Renewed> answers(
            SessionClient client,
            List<Claim> batch,
            Map<ClaimId, AdmissionQueue> confirmed,
            Map<String, Reply<List<String>>> lists) {
        Map<String, AdmissionQueue> queues = new HashMap<>();
        List<Renewed> answers = new ArrayList<>(batch.size());
        for (Claim claim : batch) {
            AdmissionQueue own = confirmed.get(claim.id());
            if (own != null) {
                answers.add(answer(client, claim, own));
                continue;
            }
            String parent = context.paths().parent(claim.name());
            Reply<List<String>> list = lists.getOrDefault(parent, NOT_ANSWERED);
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
        int index = queue.indexOf(own.text());
        if (index < 0) {
            return deleted(claimState);
        }
        queue.of(claim.id()).stream()
                .filter(node -> !node.equals(own))
                .forEach(copy -> context.orphans().remove(client, claimState.parent() + '/' + copy.text()));
        predecessorWatch.evaluate(client, claimState, queue);
        return stillPresent(client, claimState, claim, queue, index);
    }

    private Renewed stillPresent(
            SessionClient client, ClaimState claimState, Claim claim, AdmissionQueue queue, int index) {
        long now = context.now();
        ClaimState.State state = claimState.state();
        claimState.renew(claim, now);
        if (state == ClaimState.State.HELD) {
            context.leaseExpiry().track(claimState);
            return new Granted(
                    claimState.counter(),
                    claimState.reportedLease(now, context.sessions().guaranteedLifetime(client)));
        }
        if (state == ClaimState.State.OVER) {
            return new Renewed.Gone(Reason.RELEASED);
        }
        return new Renewed.Waiting(Math.max(0, queue.position(index)), Duration.ZERO);
    }

    // The session is alive, so another client deleted the node. Or the grant was shrunk after this list was taken.
    private Renewed deleted(ClaimState claimState) {
        context.claims().end(claimState, Reason.RELEASED);
        return new Renewed.Gone(Reason.RELEASED);
    }

    private @Nullable Renewed releasedBefore(Claim claim) {
        return context.claims().hasTombstone(claim.id()) ? new Renewed.Gone(Reason.RELEASED) : null;
    }

    private Renewed unknown(Claim claim, AdmissionQueue queue) {
        Renewed released = releasedBefore(claim);
        if (released != null) {
            return released;
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
