package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
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
 * Renews: one sync, which the leader answers and which shows that the session lives, and behind it in the same round trip
 * what shows that the claims are still there: one list of the session's own nodes for the claims that hold, if they are many,
 * and one list for the folder of each other claim. A sweep of leftovers goes with it.
 */
public final class Renew {

    private static final Reply<List<String>> NOT_ANSWERED = new Reply<>(Code.CONNECTIONLOSS, null, "");

    private final StoreContext site;
    private final PredecessorWatch waiting;
    private final SessionNodes ownNodes = new SessionNodes();

    public Renew(StoreContext site, PredecessorWatch waiting) {
        this.site = site;
        this.waiting = waiting;
    }

    public CompletionStage<List<Renewed>> renew(List<Claim> batch) {
        if (batch.isEmpty()) {
            return CompletableFuture.completedStage(List.of());
        }
        SessionClient handle = site.sessions().current();
        CompletionStage<Reply<String>> sync = handle.sync(site.paths().root());
        Map<ClaimId, String> held = heldTogether(handle, batch);
        CompletionStage<Map<String, List<String>>> own = held.isEmpty()
                ? CompletableFuture.completedStage(Map.of())
                : ownNodes.find(handle, held.values(), paths());
        CompletionStage<Map<String, Reply<List<String>>>> lists = list(
                handle,
                batch.stream().filter(claim -> !held.containsKey(claim.id())).toList());
        rewrite(handle, batch);
        site.leftovers().sweep(handle);
        return sync.thenCombine(own, Asked::new)
                .thenCombine(lists, (asked, listed) -> {
                    if (!asked.sync().isOk() && !asked.sync().isMissing()) {
                        throw asked.sync().failure();
                    }
                    return answersOrLook(handle, batch, held, asked.own(), listed);
                })
                .thenCompose(stage -> stage);
    }

    private record Asked(Reply<String> sync, Map<String, List<String>> own) {}

    // The nodes of claims that hold, if they are to be asked for together; nothing if they are not.
    private Map<ClaimId, String> heldTogether(SessionClient handle, List<Claim> batch) {
        Map<ClaimId, String> held = new HashMap<>();
        if (ownNodes.areWorthwhile(batch.size(), site.places().count())) {
            for (Claim claim : batch) {
                ClaimState place = site.places().find(claim.id());
                String path = place == null ? null : place.path();
                if (place != null
                        && path != null
                        && place.state() == ClaimState.State.HELD
                        && place.session() == handle.session()) {
                    held.put(claim.id(), path);
                }
            }
        }
        return held.size() < SessionNodes.FEWEST ? Map.of() : held;
    }

    private List<String> paths() {
        return site.places().all().stream()
                .map(ClaimState::path)
                .filter(Objects::nonNull)
                .toList();
    }

    // All are sent at once; the last is answered after all others.
    private CompletionStage<Map<String, Reply<List<String>>>> list(SessionClient handle, List<Claim> claims) {
        Map<String, Reply<List<String>>> lists = new ConcurrentHashMap<>();
        CompletionStage<Map<String, Reply<List<String>>>> last = CompletableFuture.completedStage(lists);
        for (Claim claim : claims) {
            String folder = site.paths().folder(claim.name());
            if (lists.putIfAbsent(folder, NOT_ANSWERED) == null) {
                last = handle.children(folder).thenApply(reply -> {
                    lists.put(folder, reply);
                    return lists;
                });
            }
        }
        return last;
    }

    // What was asked for together and is not there, is looked for in its folder before it is given up.
    private CompletionStage<List<Renewed>> answersOrLook(
            SessionClient handle,
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
                String folder = site.paths().folder(claim.name());
                AdmissionQueue queue =
                        queues.computeIfAbsent(folder, key -> AdmissionQueue.of(own.getOrDefault(key, List.of())));
                if (queue.before(path.substring(folder.length() + 1)) >= 0) {
                    confirmed.put(claim.id(), queue);
                } else {
                    missed.add(claim);
                }
            }
        }
        if (missed.isEmpty()) {
            return CompletableFuture.completedStage(answers(handle, batch, confirmed, lists));
        }
        return list(handle, missed).thenApply(more -> {
            if (confirmed.isEmpty() && more.values().stream().anyMatch(Reply::isOk)) {
                ownNodes.areUseless();
            }
            Map<String, Reply<List<String>>> all = new HashMap<>(lists);
            all.putAll(more);
            return answers(handle, batch, confirmed, all);
        });
    }

    // Owners and leases that have changed are written down for those who look.
    private void rewrite(SessionClient handle, List<Claim> batch) {
        for (Claim claim : batch) {
            ClaimState place = site.places().find(claim.id());
            String path = place == null ? null : place.path();
            if (place != null && path != null && place.session() == handle.session() && place.differsFrom(claim)) {
                NodeData data = place.data();
                handle.setData(
                        path, new NodeData(claim.lease(), data.counter(), data.granted(), claim.owner()).bytes());
            }
        }
    }

    private List<Renewed> answers(
            SessionClient handle,
            List<Claim> batch,
            Map<ClaimId, AdmissionQueue> confirmed,
            Map<String, Reply<List<String>>> lists) {
        Map<String, AdmissionQueue> queues = new HashMap<>();
        List<Renewed> answers = new ArrayList<>(batch.size());
        for (Claim claim : batch) {
            AdmissionQueue own = confirmed.get(claim.id());
            if (own != null) {
                answers.add(answer(handle, claim, own));
                continue;
            }
            String folder = site.paths().folder(claim.name());
            Reply<List<String>> list = lists.getOrDefault(folder, NOT_ANSWERED);
            if (list.isOk() || list.isMissing()) {
                AdmissionQueue queue = queues.computeIfAbsent(
                        folder, unused -> list.isOk() ? AdmissionQueue.of(list.get()) : AdmissionQueue.EMPTY);
                answers.add(answer(handle, claim, queue));
            } else {
                answers.add(new Renewed.Failed(list.failure()));
            }
        }
        return answers;
    }

    private Renewed answer(SessionClient handle, Claim claim, AdmissionQueue queue) {
        ClaimState place = site.places().find(claim.id());
        NodeName own = place == null ? null : place.node();
        if (place == null || own == null || place.state() == ClaimState.State.SENT) {
            return unknown(claim, queue);
        }
        if (place.session() != handle.session()) {
            site.places().end(place, Reason.EXPIRED);
            // Curator may have given up a session that the server still keeps; nobody is to wait for its end.
            site.leftovers().removeLater(place.folder() + '/' + own.text());
            return new Renewed.Gone(queue.isTaken(claim) ? Reason.TAKEN : Reason.EXPIRED);
        }
        int index = queue.before(own.text());
        if (index < 0) {
            return vanished(place);
        }
        queue.of(claim.id()).stream()
                .filter(node -> !node.equals(own))
                .forEach(copy -> site.leftovers().remove(handle, place.folder() + '/' + copy.text()));
        waiting.judge(handle, place, queue);
        return standing(handle, place, claim, queue, index);
    }

    private Renewed standing(SessionClient handle, ClaimState place, Claim claim, AdmissionQueue queue, int index) {
        long now = site.now();
        ClaimState.State state = place.state();
        place.renew(claim, now);
        if (state == ClaimState.State.HELD) {
            site.leases().watch(place);
            return new Renewed.Held(
                    place.counter(), place.told(now, site.sessions().sure(handle)));
        }
        if (state == ClaimState.State.OVER) {
            return new Renewed.Gone(Reason.RELEASED);
        }
        return new Renewed.Waiting(Math.max(0, queue.position(index)), Duration.ZERO);
    }

    // The session lives, so somebody has deleted it. Or it was shrunk, and the list is older than that.
    private Renewed vanished(ClaimState place) {
        site.places().end(place, Reason.RELEASED);
        return new Renewed.Gone(Reason.RELEASED);
    }

    private @Nullable Renewed buried(Claim claim) {
        return site.places().isBuried(claim.id()) ? new Renewed.Gone(Reason.RELEASED) : null;
    }

    private Renewed unknown(Claim claim, AdmissionQueue queue) {
        Renewed released = buried(claim);
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
