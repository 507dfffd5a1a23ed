package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.zookeeper.claim.ClaimState;
import dev.holdfast.zookeeper.claim.OneShotListener;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.NodeData;
import dev.holdfast.zookeeper.node.NodeName;
import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * Acquires: makes the claim's node and lists its folder, back to back on one session, so that it costs one round trip; the
 * list tells whether it holds. A claim that was sent before is looked for first, after a sync, by its id in the node's name.
 */
public final class Acquire {

    /** A folder that is removed again and again, as it is idle, while a claim wants to use it. */
    private static final int MOST_FOLDERS = 4;

    /** A claim is looked for so often if its node changes meanwhile. */
    private static final int MOST_SEARCHES = 4;

    static final Renewed RELEASED = new Renewed.Gone(Renewed.Reason.RELEASED);

    /** A claim was looked for, and has no node. */
    static final Renewed ABSENT = new Renewed.Gone(Renewed.Reason.EXPIRED);

    private final StoreContext site;
    private final PredecessorWatch waiting;
    private final ParentNodes folders;

    /**
     * What is wanted for a claim.
     *
     * @param ear who waits; null to take nothing if it cannot hold at once
     * @param lookOnly whether it is only looked for, and neither made nor shrunk
     */
    private record Wish(Claim claim, @Nullable OneShotListener ear, boolean lookOnly) {}

    public Acquire(StoreContext site, PredecessorWatch waiting, ParentNodes folders) {
        this.site = site;
        this.waiting = waiting;
        this.folders = folders;
    }

    /**
     * Acquires or takes a place.
     *
     * @param ear who waits; null to take nothing if it cannot hold at once
     * @return held, waiting (and if nobody waits: nothing was taken), or gone if the claim was released before
     */
    public CompletionStage<Renewed> acquire(Claim claim, @Nullable OneShotListener ear) {
        SessionClient handle = site.sessions().current();
        ClaimState known = site.places().find(claim.id());
        if (known != null || claim.repeated()) {
            return search(handle, new Wish(claim, ear, false), 0);
        }
        return site.places().isBuried(claim.id()) ? done(RELEASED) : send(handle, new Wish(claim, ear, false), 0);
    }

    /**
     * Looks for a claim that may have been sent before.
     *
     * @return held, waiting (and if nobody listens: its node is removed), released, or {@link #ABSENT}
     */
    CompletionStage<Renewed> look(SessionClient handle, Claim claim) {
        return search(handle, new Wish(claim, null, true), 0);
    }

    private CompletionStage<Renewed> send(SessionClient handle, Wish wish, int tries) {
        Claim claim = wish.claim();
        String folder = site.paths().folder(claim.name());
        ClaimState place = new ClaimState(claim, folder, wish.ear());
        if (site.places().add(place) != null) {
            return search(handle, wish, tries);
        }
        folders.make(handle, folder, tries);
        CompletionStage<Reply<SessionClient.Created>> creation = handle.create(
                folder + '/' + NodeName.beginning(claim),
                NodeData.of(claim).bytes(),
                site.acl(),
                CreateMode.EPHEMERAL_SEQUENTIAL);
        CompletionStage<Reply<List<String>>> list = handle.children(folder);
        return creation.thenCombine(list, Answers::new).thenCompose(answers -> answered(handle, place, answers, tries));
    }

    private record Answers(Reply<SessionClient.Created> creation, Reply<List<String>> list) {}

    private CompletionStage<Renewed> answered(SessionClient handle, ClaimState place, Answers answers, int tries) {
        Reply<SessionClient.Created> creation = answers.creation();
        if (creation.isMissing()) {
            folders.isGone(place.folder());
            site.places().remove(place);
            if (tries >= MOST_FOLDERS) {
                throw creation.failure();
            }
            Wish wish = new Wish(place.claim(), place.ear(), false);
            return tries == 0
                    ? send(handle, wish, 1)
                    : folders.makeRoot(handle).thenCompose(made -> send(handle, wish, tries + 1));
        }
        if (!creation.isOk()) {
            StoreException failure = creation.failure();
            if (failure.effect() == Effect.NONE) {
                site.places().remove(place);
            }
            throw failure;
        }
        SessionClient.Created made = creation.get();
        NodeName node = NodeName.parse(made.path().substring(place.folder().length() + 1));
        if (node == null) {
            throw StoreException.refused("ZooKeeper made a node of another name: " + made.path(), null);
        }
        place.found(node, made.stat().getEphemeralOwner(), made.stat().getCzxid());
        if (!answers.list().isOk()) {
            StoreException failure = answers.list().failure();
            throw StoreException.unavailable(Effect.UNKNOWN, String.valueOf(failure.getMessage()), failure);
        }
        return judged(handle, place, AdmissionQueue.of(answers.list().get()));
    }

    // What a claim whose node is known may do.
    private CompletionStage<Renewed> judged(SessionClient handle, ClaimState place, AdmissionQueue queue) {
        NodeName own = place.node();
        int index = own == null ? -1 : queue.before(own.text());
        if (own == null || index < 0) {
            site.places().remove(place);
            return done(RELEASED);
        }
        if (site.places().isBuried(place.id())) {
            discard(handle, place);
            return done(RELEASED);
        }
        if (queue.isOfAnotherKind(index)) {
            discard(handle, place);
            throw new KindConflictException(place.name(), own.limit(), queue.limit());
        }
        if (queue.isHolder(index)) {
            return held(handle, place, queue, index);
        }
        Renewed answer = new Renewed.Waiting(queue.position(index), Duration.ZERO);
        if (place.ear() == null) {
            discard(handle, place);
            return done(answer);
        }
        if (queue.position(index) >= LockStore.MAX_QUEUE) {
            discard(handle, place);
            throw StoreException.refused(
                    "\"" + place.name() + "\" has " + LockStore.MAX_QUEUE + " waiters already, which is the most",
                    null);
        }
        if (!place.queue()) {
            discard(handle, place);
            return done(RELEASED);
        }
        waiting.arm(handle, place, queue, index);
        return done(answer);
    }

    /** A claim whose node is among the holders' holds, unless it was released meanwhile. */
    CompletionStage<Renewed> held(SessionClient handle, ClaimState place, AdmissionQueue queue, int index) {
        long now = site.now();
        boolean waited = place.state() == ClaimState.State.WAITING;
        if (!place.hold(now)) {
            discard(handle, place);
            return done(RELEASED);
        }
        waiting.admitted(handle, place, queue, index);
        site.leases().watch(place);
        Duration told = place.told(now, site.sessions().sure(handle));
        OneShotListener ear = place.ear();
        if (waited && ear != null) {
            ear.granted(place.counter(), told);
        }
        return done(new Renewed.Held(place.counter(), told));
    }

    private void discard(SessionClient handle, ClaimState place) {
        String path = place.path();
        site.places().remove(place);
        if (path != null) {
            site.leftovers().remove(handle, path);
        }
    }

    // ---- claims that were sent before ----

    private CompletionStage<Renewed> search(SessionClient handle, Wish wish, int searches) {
        Claim claim = wish.claim();
        if (searches >= MOST_SEARCHES) {
            throw StoreException.unavailable(
                    Effect.UNKNOWN, "The nodes of claim " + claim.id() + " of \"" + claim.name() + "\" change", null);
        }
        String folder = site.paths().folder(claim.name());
        handle.sync(folder);
        return handle.children(folder)
                .thenCompose(reply -> found(
                        handle,
                        wish,
                        reply.isMissing() ? AdmissionQueue.EMPTY : AdmissionQueue.of(reply.get()),
                        searches));
    }

    private CompletionStage<Renewed> found(SessionClient handle, Wish wish, AdmissionQueue queue, int searches) {
        Claim claim = wish.claim();
        String folder = site.paths().folder(claim.name());
        List<NodeName> nodes = queue.of(claim.id()).stream()
                .filter(node -> !site.leftovers().isDoomed(folder + '/' + node.text()))
                .toList();
        ClaimState known = site.places().find(claim.id());
        if (nodes.isEmpty()) {
            if (known != null) {
                site.places().remove(known);
            }
            if (site.places().isBuried(claim.id())) {
                return done(RELEASED);
            }
            return wish.lookOnly() ? done(ABSENT) : send(handle, wish, searches + 1);
        }
        // Copies that came late, if any: the first is the claim's place.
        nodes.subList(1, nodes.size()).forEach(copy -> site.leftovers().remove(handle, folder + '/' + copy.text()));
        NodeName node = nodes.get(0);
        if (known != null && node.equals(known.node()) && known.session() == handle.session()) {
            return again(handle, known, wish, queue, searches);
        }
        String path = folder + '/' + node.text();
        return handle.stat(path, null).thenCompose(reply -> {
            if (reply.isMissing()) {
                return search(handle, wish, searches + 1);
            }
            Stat stat = reply.get();
            if (stat.getEphemeralOwner() != handle.session()) {
                return removeOfAnotherSession(handle, path, wish, searches);
            }
            ClaimState place = known != null ? known : new ClaimState(claim, folder, wish.ear());
            ClaimState other = known != null ? known : site.places().add(place);
            if (other != null && other != place) {
                return search(handle, wish, searches + 1);
            }
            place.found(node, stat.getEphemeralOwner(), stat.getCzxid());
            return again(handle, place, wish, queue, searches);
        });
    }

    // A node of an expired session will go at any moment: it is no grant, however near the front it is (CURATOR-604).
    private CompletionStage<Renewed> removeOfAnotherSession(
            SessionClient handle, String path, Wish wish, int searches) {
        return handle.delete(path).thenCompose(reply -> {
            if (!reply.isOk() && !reply.isMissing()) {
                throw reply.failure();
            }
            ClaimState known = site.places().find(wish.claim().id());
            if (known != null) {
                site.places().remove(known);
            }
            return search(handle, wish, searches + 1);
        });
    }

    private CompletionStage<Renewed> again(
            SessionClient handle, ClaimState place, Wish wish, AdmissionQueue queue, int searches) {
        Claim claim = wish.claim();
        OneShotListener ear = wish.ear();
        NodeName node = place.node();
        if (node == null) {
            return search(handle, wish, searches + 1);
        }
        if (ear == null) {
            int index = queue.before(node.text());
            boolean waits = index >= 0 && !queue.isHolder(index);
            if (place.state() == ClaimState.State.WAITING && waits) {
                return done(new Renewed.Waiting(queue.position(index), Duration.ZERO));
            }
            if (claim.limit() != node.limit() || claim.permits() > node.permits()) {
                throw StoreException.refused(
                        "Claim " + claim.id() + " has " + node.permits() + " of " + node.limit() + " permits of \""
                                + claim.name() + "\" and cannot be changed to " + claim.permits() + " of "
                                + claim.limit(),
                        null);
            }
            if (claim.permits() < node.permits() && !waits && !wish.lookOnly()) {
                return shrink(handle, place, node, wish, queue, searches);
            }
        } else {
            place.hear(ear);
            place.renew(claim, site.now());
        }
        return judged(handle, place, queue);
    }

    private CompletionStage<Renewed> shrink(
            SessionClient handle, ClaimState place, NodeName node, Wish wish, AdmissionQueue queue, int searches) {
        NodeName smaller = node.resized(wish.claim().permits());
        NodeData old = place.data();
        byte[] data = new NodeData(old.lease(), place.counter(), old.granted(), old.owner()).bytes();
        String folder = place.folder();
        return handle.replace(folder + '/' + node.text(), folder + '/' + smaller.text(), data, site.acl())
                .thenCompose(reply -> {
                    if (reply.code() == Code.NONODE || reply.code() == Code.NODEEXISTS) {
                        return search(handle, wish, searches + 1);
                    }
                    reply.get();
                    place.shrinkTo(smaller);
                    return judged(handle, place, queue.with(node, smaller));
                });
    }

    private static CompletionStage<Renewed> done(Renewed answer) {
        return CompletableFuture.completedStage(answer);
    }
}
