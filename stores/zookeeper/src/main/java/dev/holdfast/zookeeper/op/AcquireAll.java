package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
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
 * Acquires several names, all or none: one multi makes the nodes of all claims at one moment, and the lists of their folders
 * travel right behind it, so that it costs one round trip. If each node is among the holders of its folder, all hold. Else
 * one multi deletes them all.
 *
 * <p>Because the nodes of two such attempts are made at two moments, one of the attempts is before the other in every folder
 * that they share: they never refuse each other crosswise.
 *
 * <p>Claims that may have been sent before are looked for first. Those that held or waited before stay whatever comes of it.
 */
public final class AcquireAll {

    /** Folders that are removed again and again, as they are idle, while claims want to use them. */
    private static final int MOST_FOLDERS = 4;

    private static final Attempt BUSY = new Attempt.Busy(Duration.ZERO);

    private final StoreContext site;
    private final Acquire acquiring;
    private final ParentNodes folders;

    public AcquireAll(StoreContext site, Acquire acquiring, ParentNodes folders) {
        this.site = site;
        this.acquiring = acquiring;
        this.folders = folders;
    }

    /** One of the claims, and how far it has come. Used by one thread after the other. */
    private static final class Member {

        final Claim claim;
        /** Whether it held or waited before: then it is none of this attempt's to undo. */
        final boolean stoodBefore;

        Renewed answer;

        @Nullable
        StoreException failure;

        Member(Claim claim, boolean stoodBefore, Renewed answer) {
            this.claim = claim;
            this.stoodBefore = stoodBefore;
            this.answer = answer;
        }

        boolean isAbsent() {
            return answer.equals(Acquire.ABSENT);
        }

        boolean isHeld() {
            return answer instanceof Renewed.Held;
        }
    }

    /** Takes all, or leaves nothing. A list with one {@code Busy} if not all can be taken. */
    public CompletionStage<List<Attempt>> acquire(List<Claim> claims) {
        SessionClient handle = site.sessions().current();
        return all(claims.stream().map(claim -> look(handle, claim)).toList())
                .thenCompose(members -> attempt(handle, members));
    }

    private CompletionStage<Member> look(SessionClient handle, Claim claim) {
        ClaimState known = site.places().find(claim.id());
        if (known == null && !claim.repeated()) {
            boolean buried = site.places().isBuried(claim.id());
            return done(new Member(claim, false, buried ? Acquire.RELEASED : Acquire.ABSENT));
        }
        boolean stood = known != null && known.state() != ClaimState.State.SENT;
        return acquiring.look(handle, claim).handle((answer, failure) -> {
            Member member = new Member(claim, stood, answer == null ? Acquire.ABSENT : answer);
            member.failure = failure == null
                    ? null
                    : ZooKeeperErrors.of(failure, claim.name().value());
            return member;
        });
    }

    // Whatever goes wrong: what this attempt has made, and knows, it removes.
    private CompletionStage<List<Attempt>> attempt(SessionClient handle, List<Member> members) {
        return taken(handle, members)
                .handle((attempts, failure) -> {
                    if (failure != null || attempts.contains(BUSY)) {
                        undo(handle, members);
                    }
                    return failure == null ? done(attempts) : CompletableFuture.<List<Attempt>>failedStage(failure);
                })
                .thenCompose(outcome -> outcome);
    }

    private CompletionStage<List<Attempt>> taken(SessionClient handle, List<Member> members) {
        for (Member member : members) {
            if (member.failure != null) {
                return CompletableFuture.failedStage(member.failure);
            }
            if (!member.isHeld() && !member.isAbsent()) {
                return done(List.of(BUSY));
            }
        }
        List<Member> absent = members.stream().filter(Member::isAbsent).toList();
        CompletionStage<Boolean> made = absent.isEmpty() ? done(true) : send(handle, absent, 0);
        return made.thenCompose(admitted -> admitted ? shrunk(members) : done(List.of(BUSY)));
    }

    private CompletionStage<Boolean> send(SessionClient handle, List<Member> absent, int tries) {
        List<ClaimState> places = begin(absent);
        Map<String, byte[]> nodes = new LinkedHashMap<>();
        for (ClaimState place : places) {
            folders.make(handle, place.folder(), tries);
            Claim claim = place.claim();
            nodes.put(
                    place.folder() + '/' + NodeName.beginning(claim),
                    NodeData.of(claim).bytes());
        }
        CompletionStage<Reply<List<SessionClient.Created>>> creation = handle.createAll(nodes, site.acl());
        CompletionStage<List<Reply<List<String>>>> lists = all(
                places.stream().map(place -> handle.children(place.folder())).toList());
        return creation.thenCombine(lists, Answers::new)
                .thenCompose(answers -> answered(handle, absent, places, answers, tries));
    }

    private record Answers(Reply<List<SessionClient.Created>> creation, List<Reply<List<String>>> lists) {}

    private List<ClaimState> begin(List<Member> absent) {
        List<ClaimState> places = new ArrayList<>(absent.size());
        for (Member member : absent) {
            Claim claim = member.claim;
            ClaimState place = new ClaimState(claim, site.paths().folder(claim.name()), null);
            if (site.places().add(place) != null) {
                places.forEach(site.places()::remove);
                throw StoreException.unavailable(
                        Effect.UNKNOWN,
                        "Claim " + claim.id() + " of \"" + claim.name() + "\" is being sent by another call",
                        null);
            }
            places.add(place);
        }
        return places;
    }

    private CompletionStage<Boolean> answered(
            SessionClient handle, List<Member> absent, List<ClaimState> places, Answers answers, int tries) {
        Reply<List<SessionClient.Created>> creation = answers.creation();
        if (creation.isMissing()) {
            places.forEach(place -> {
                folders.isGone(place.folder());
                site.places().remove(place);
            });
            if (tries >= MOST_FOLDERS) {
                throw creation.failure();
            }
            return tries == 0
                    ? send(handle, absent, 1)
                    : folders.makeRoot(handle).thenCompose(made -> send(handle, absent, tries + 1));
        }
        if (!creation.isOk()) {
            StoreException failure = creation.failure();
            if (failure.effect() == Effect.NONE) {
                places.forEach(site.places()::remove);
            }
            throw failure;
        }
        for (int i = 0; i < places.size(); i++) {
            isMade(places.get(i), creation.get().get(i));
        }
        return admit(handle, absent, places, answers.lists());
    }

    private static void isMade(ClaimState place, SessionClient.Created made) {
        NodeName node = NodeName.parse(made.path().substring(place.folder().length() + 1));
        if (node == null) {
            throw StoreException.refused("ZooKeeper made a node of another name: " + made.path(), null);
        }
        place.found(node, made.stat().getEphemeralOwner(), made.stat().getCzxid());
    }

    // All are looked at before the first is told that it holds.
    private CompletionStage<Boolean> admit(
            SessionClient handle, List<Member> absent, List<ClaimState> places, List<Reply<List<String>>> lists) {
        List<AdmissionQueue> queues = new ArrayList<>(places.size());
        for (int i = 0; i < places.size(); i++) {
            Reply<List<String>> list = lists.get(i);
            if (!list.isOk()) {
                StoreException failure = list.failure();
                throw StoreException.unavailable(Effect.UNKNOWN, String.valueOf(failure.getMessage()), failure);
            }
            AdmissionQueue queue = AdmissionQueue.of(list.get());
            if (!isAdmitted(places.get(i), queue)) {
                return done(false);
            }
            queues.add(queue);
        }
        List<CompletionStage<Renewed>> holds = new ArrayList<>(places.size());
        for (int i = 0; i < places.size(); i++) {
            ClaimState place = places.get(i);
            AdmissionQueue queue = queues.get(i);
            holds.add(
                    acquiring.held(handle, place, queue, queue.before(own(place).text())));
        }
        return all(holds).thenApply(held -> {
            for (int i = 0; i < held.size(); i++) {
                absent.get(i).answer = held.get(i);
            }
            return absent.stream().allMatch(Member::isHeld);
        });
    }

    private boolean isAdmitted(ClaimState place, AdmissionQueue queue) {
        int index = queue.before(own(place).text());
        if (index < 0 || site.places().isBuried(place.id())) {
            return false;
        }
        if (queue.isOfAnotherKind(index)) {
            throw new KindConflictException(place.name(), own(place).limit(), queue.limit());
        }
        return queue.isHolder(index);
    }

    private static NodeName own(ClaimState place) {
        return Objects.requireNonNull(place.node());
    }

    // Grants that are to have fewer permits than before shrink when nothing can be refused any more.
    private CompletionStage<List<Attempt>> shrunk(List<Member> members) {
        List<CompletionStage<Attempt>> attempts = new ArrayList<>(members.size());
        for (Member member : members) {
            ClaimState place = site.places().find(member.claim.id());
            NodeName node = place == null ? null : place.node();
            CompletionStage<Renewed> answer = node != null && node.permits() > member.claim.permits()
                    ? acquiring.acquire(member.claim, null)
                    : done(member.answer);
            attempts.add(answer.thenApply(AcquireAll::attempt));
        }
        return all(attempts).thenApply(list -> list.contains(BUSY) ? List.of(BUSY) : list);
    }

    private static Attempt attempt(Renewed answer) {
        return answer instanceof Renewed.Held held ? new Attempt.Granted(held.counter(), held.lease()) : BUSY;
    }

    private void undo(SessionClient handle, List<Member> members) {
        List<String> paths = new ArrayList<>();
        for (Member member : members) {
            ClaimState place = site.places().find(member.claim.id());
            String path = place == null ? null : place.path();
            // One whose node is not known stays: it may be repeated, and is then looked for.
            if (!member.stoodBefore && place != null && path != null) {
                site.places().remove(place);
                paths.add(path);
            }
        }
        site.leftovers().removeAll(handle, paths);
    }

    private static <T> CompletionStage<T> done(T value) {
        return CompletableFuture.completedStage(value);
    }

    private static <T> CompletionStage<List<T>> all(List<CompletionStage<T>> stages) {
        CompletionStage<List<T>> result = done(new ArrayList<>(stages.size()));
        for (CompletionStage<T> stage : stages) {
            result = result.thenCombine(stage, (list, value) -> {
                list.add(value);
                return list;
            });
        }
        return result;
    }
}
