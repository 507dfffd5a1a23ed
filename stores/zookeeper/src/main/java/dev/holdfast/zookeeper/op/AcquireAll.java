package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.Stages;
import dev.holdfast.zookeeper.claim.ClaimState;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.NodeData;
import dev.holdfast.zookeeper.node.NodeName;
import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import dev.holdfast.zookeeper.session.ZooKeeperErrors;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Acquires several names, all or none. One multi creates the nodes of all claims at one moment, and the lists of
 * the children of their parent nodes are sent right behind it, so that all this takes one round trip. If each node
 * is among the holders of its lock, all claims hold. Else one multi deletes all the nodes.
 *
 * <p>The nodes of two such attempts are created at two different moments, so one attempt is ahead of the other in
 * the queue of every lock that both name. Two attempts therefore never both fail because of each other.
 *
 * <p>Claims that may have been sent before are searched first. Claims that held or waited before are kept, whatever
 * the outcome.
 */
public final class AcquireAll {

    /**
     * The maximum number of retries of a create with missing parent nodes: the server may delete idle ones
     * repeatedly.
     */
    private static final int MAX_CREATE_RETRIES = 4;

    private static final Attempt BUSY = new Attempt.Busy(Duration.ZERO);

    private final StoreContext context;
    private final Acquire acquire;
    private final ParentNodes parentNodes;

    public AcquireAll(StoreContext context, Acquire acquire, ParentNodes parentNodes) {
        this.context = context;
        this.acquire = acquire;
        this.parentNodes = parentNodes;
    }

    /** One of the claims and its progress. Not thread-safe: it is used by one thread at a time. */
    private static final class Member {

        final Claim claim;
        /** Whether the claim held or waited before. This attempt then does not undo it. */
        final boolean existedBefore;

        Renewed answer;

        @Nullable
        StoreException failure;

        Member(Claim claim, boolean existedBefore, Renewed answer) {
            this.claim = claim;
            this.existedBefore = existedBefore;
            this.answer = answer;
        }

        boolean isAbsent() {
            return answer.equals(Acquire.ABSENT);
        }

        boolean isHeld() {
            return answer instanceof Granted;
        }
    }

    /**
     * Acquires all claims, or leaves no new nodes. Returns a list with one {@code Busy} if not all can be acquired.
     */
    public CompletionStage<List<Attempt>> acquire(List<Claim> claims) {
        SessionClient client = context.sessions().current();
        return Stages.all(claims.stream().map(claim -> find(client, claim)).toList())
                .thenCompose(members -> attempt(client, members));
    }

    private CompletionStage<Member> find(SessionClient client, Claim claim) {
        ClaimState known = context.claims().find(claim.id());
        if (known == null && !claim.repeated()) {
            boolean released = context.claims().hasTombstone(claim.id());
            return done(new Member(claim, false, released ? Acquire.RELEASED : Acquire.ABSENT));
        }
        boolean existed = known != null && known.state() != ClaimState.State.SENT;
        return acquire.find(client, claim).handle((answer, failure) -> {
            Member member = new Member(claim, existed, answer == null ? Acquire.ABSENT : answer);
            member.failure = failure == null
                    ? null
                    : ZooKeeperErrors.of(failure, claim.name().value());
            return member;
        });
    }

    // If the attempt fails or is busy, it deletes all nodes that it has created and knows. Busy is answered when
    // they are gone: whoever tries after that, from another session, must not find them before his own.
    private CompletionStage<List<Attempt>> attempt(SessionClient client, List<Member> members) {
        return acquireMembers(client, members)
                .handle((attempts, failure) -> {
                    if (failure != null) {
                        undo(client, members);
                        return CompletableFuture.<List<Attempt>>failedStage(failure);
                    }
                    return attempts.contains(BUSY)
                            ? undo(client, members).thenApply(deleted -> attempts)
                            : done(attempts);
                })
                .thenCompose(outcome -> outcome);
    }

    private CompletionStage<List<Attempt>> acquireMembers(SessionClient client, List<Member> members) {
        for (Member member : members) {
            if (member.failure != null) {
                return CompletableFuture.failedStage(member.failure);
            }
            if (!member.isHeld() && !member.isAbsent()) {
                return done(List.of(BUSY));
            }
        }
        List<Member> absent = members.stream().filter(Member::isAbsent).toList();
        CompletionStage<Boolean> made = absent.isEmpty() ? done(true) : send(client, absent, 0);
        return made.thenCompose(admitted -> admitted ? shrunk(members) : done(List.of(BUSY)));
    }

    private CompletionStage<Boolean> send(SessionClient client, List<Member> absent, int tries) {
        List<ClaimState> claimStates = register(absent);
        Map<String, byte[]> nodes = new LinkedHashMap<>();
        for (ClaimState claimState : claimStates) {
            parentNodes.create(client, claimState.parent(), tries);
            Claim claim = claimState.claim();
            nodes.put(
                    claimState.parent() + '/' + NodeName.prefix(claim),
                    NodeData.of(claim).bytes());
        }
        CompletionStage<Reply<List<SessionClient.Created>>> creation = client.createAll(nodes, context.acl());
        CompletionStage<List<Reply<List<String>>>> lists = Stages.all(claimStates.stream()
                .map(claimState -> client.children(claimState.parent()))
                .toList());
        return creation.thenCombine(lists, Replies::new)
                .thenCompose(replies -> onReplies(client, absent, claimStates, replies, tries));
    }

    private record Replies(Reply<List<SessionClient.Created>> creation, List<Reply<List<String>>> lists) {}

    private List<ClaimState> register(List<Member> absent) {
        List<ClaimState> claimStates = new ArrayList<>(absent.size());
        for (Member member : absent) {
            Claim claim = member.claim;
            ClaimState claimState = new ClaimState(claim, context.paths().parent(claim.name()), null);
            if (context.claims().add(claimState) != null) {
                claimStates.forEach(context.claims()::remove);
                throw StoreException.unavailable(
                        Effect.UNKNOWN,
                        "Claim " + claim.id() + " of \"" + claim.name() + "\" is being sent by another call",
                        null);
            }
            claimStates.add(claimState);
        }
        return claimStates;
    }

    private CompletionStage<Boolean> onReplies(
            SessionClient client, List<Member> absent, List<ClaimState> claimStates, Replies replies, int tries) {
        Reply<List<SessionClient.Created>> creation = replies.creation();
        if (creation.isMissing()) {
            claimStates.forEach(claimState -> {
                parentNodes.forget(claimState.parent());
                context.claims().remove(claimState);
            });
            if (tries >= MAX_CREATE_RETRIES) {
                throw creation.failure();
            }
            return tries == 0
                    ? send(client, absent, 1)
                    : parentNodes.createRoot(client).thenCompose(made -> send(client, absent, tries + 1));
        }
        if (!creation.isOk()) {
            StoreException failure = creation.failure();
            if (failure.effect() == Effect.NONE) {
                claimStates.forEach(context.claims()::remove);
            }
            throw failure;
        }
        for (int i = 0; i < claimStates.size(); i++) {
            recordNode(claimStates.get(i), creation.get().get(i));
        }
        return admit(client, absent, claimStates, replies.lists());
    }

    private static void recordNode(ClaimState claimState, SessionClient.Created made) {
        NodeName node = NodeName.parse(made.path().substring(claimState.parent().length() + 1));
        if (node == null) {
            throw StoreException.refused("ZooKeeper created a node with another name: " + made.path(), null);
        }
        claimState.setNode(
                node, made.path(), made.stat().getEphemeralOwner(), made.stat().getCzxid());
    }

    // Checks all claims before the first one becomes held.
    private CompletionStage<Boolean> admit(
            SessionClient client, List<Member> absent, List<ClaimState> claimStates, List<Reply<List<String>>> lists) {
        List<AdmissionQueue> queues = new ArrayList<>(claimStates.size());
        for (int i = 0; i < claimStates.size(); i++) {
            Reply<List<String>> list = lists.get(i);
            if (!list.isOk()) {
                StoreException failure = list.failure();
                throw StoreException.unavailable(Effect.UNKNOWN, String.valueOf(failure.getMessage()), failure);
            }
            AdmissionQueue queue = AdmissionQueue.of(list.get());
            if (!isAdmitted(claimStates.get(i), queue)) {
                return done(false);
            }
            queues.add(queue);
        }
        for (int i = 0; i < claimStates.size(); i++) {
            ClaimState claimState = claimStates.get(i);
            AdmissionQueue queue = queues.get(i);
            absent.get(i).answer = acquire.held(client, claimState, queue, queue.indexOf(own(claimState)));
        }
        return done(absent.stream().allMatch(Member::isHeld));
    }

    private boolean isAdmitted(ClaimState claimState, AdmissionQueue queue) {
        int index = queue.indexOf(own(claimState));
        if (index < 0 || context.claims().hasTombstone(claimState.id())) {
            return false;
        }
        Acquire.requireSameUse(claimState, queue, index);
        return queue.isAdmitted(index);
    }

    private static NodeName own(ClaimState claimState) {
        return Objects.requireNonNull(claimState.node());
    }

    // Grants that shrink to fewer permits do so only now, when no claim can be refused any more.
    private CompletionStage<List<Attempt>> shrunk(List<Member> members) {
        List<CompletionStage<Attempt>> attempts = new ArrayList<>(members.size());
        for (Member member : members) {
            ClaimState claimState = context.claims().find(member.claim.id());
            NodeName node = claimState == null ? null : claimState.node();
            CompletionStage<Renewed> answer = node != null && node.permits() > member.claim.permits()
                    ? acquire.acquire(member.claim, null)
                    : done(member.answer);
            attempts.add(answer.thenApply(AcquireAll::attempt));
        }
        return Stages.all(attempts).thenApply(list -> list.contains(BUSY) ? List.of(BUSY) : list);
    }

    private static Attempt attempt(Renewed answer) {
        return answer instanceof Granted held ? held : BUSY;
    }

    private CompletionStage<@Nullable Void> undo(SessionClient client, List<Member> members) {
        List<String> paths = new ArrayList<>();
        for (Member member : members) {
            ClaimState claimState = context.claims().find(member.claim.id());
            String path = claimState == null ? null : claimState.path();
            // A claim whose node is not known is kept, because it may be sent again and is then searched.
            if (!member.existedBefore && claimState != null && path != null) {
                context.claims().remove(claimState);
                paths.add(path);
            }
        }
        return context.orphans().removeAll(client, paths);
    }

    private static <T> CompletionStage<T> done(T value) {
        return CompletableFuture.completedStage(value);
    }
}
