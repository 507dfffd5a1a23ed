package dev.holdfast.zookeeper;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
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
final class Acquiring {

    /** A folder that is removed again and again, as it is idle, while a claim wants to use it. */
    private static final int MOST_FOLDERS = 4;

    /** A claim is looked for so often if its node changes meanwhile. */
    private static final int MOST_SEARCHES = 4;

    static final Renewed RELEASED = new Renewed.Gone(Renewed.Reason.RELEASED);

    /** A claim was looked for, and has no node. */
    static final Renewed ABSENT = new Renewed.Gone(Renewed.Reason.EXPIRED);

    private final Site site;
    private final Waiting waiting;
    private final Folders folders;

    /**
     * What is wanted for a claim.
     *
     * @param ear who waits; null to take nothing if it cannot hold at once
     * @param lookOnly whether it is only looked for, and neither made nor shrunk
     */
    private record Wish(Claim claim, @Nullable Ear ear, boolean lookOnly) {}

    Acquiring(Site site, Waiting waiting, Folders folders) {
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
    CompletionStage<Renewed> acquire(Claim claim, @Nullable Ear ear) {
        Handle handle = site.sessions().current();
        Place known = site.places().find(claim.id());
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
    CompletionStage<Renewed> look(Handle handle, Claim claim) {
        return search(handle, new Wish(claim, null, true), 0);
    }

    private CompletionStage<Renewed> send(Handle handle, Wish wish, int tries) {
        Claim claim = wish.claim();
        String folder = site.paths().folder(claim.name());
        Place place = new Place(claim, folder, wish.ear());
        if (site.places().add(place) != null) {
            return search(handle, wish, tries);
        }
        folders.make(handle, folder, tries);
        CompletionStage<Reply<Handle.Created>> creation = handle.create(
                folder + '/' + NodeName.beginning(claim),
                NodeData.of(claim).bytes(),
                site.acl(),
                CreateMode.EPHEMERAL_SEQUENTIAL);
        CompletionStage<Reply<List<String>>> list = handle.children(folder);
        return creation.thenCombine(list, Answers::new).thenCompose(answers -> answered(handle, place, answers, tries));
    }

    private record Answers(Reply<Handle.Created> creation, Reply<List<String>> list) {}

    private CompletionStage<Renewed> answered(Handle handle, Place place, Answers answers, int tries) {
        Reply<Handle.Created> creation = answers.creation();
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
        Handle.Created made = creation.get();
        NodeName node = NodeName.parse(made.path().substring(place.folder().length() + 1));
        if (node == null) {
            throw StoreException.refused("ZooKeeper made a node of another name: " + made.path(), null);
        }
        place.found(node, made.stat().getEphemeralOwner(), made.stat().getCzxid());
        if (!answers.list().isOk()) {
            StoreException failure = answers.list().failure();
            throw StoreException.unavailable(Effect.UNKNOWN, String.valueOf(failure.getMessage()), failure);
        }
        return judged(handle, place, NodeQueue.of(answers.list().get()));
    }

    // What a claim whose node is known may do.
    private CompletionStage<Renewed> judged(Handle handle, Place place, NodeQueue queue) {
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
    CompletionStage<Renewed> held(Handle handle, Place place, NodeQueue queue, int index) {
        long now = site.now();
        boolean waited = place.state() == Place.State.WAITING;
        if (!place.hold(now)) {
            discard(handle, place);
            return done(RELEASED);
        }
        waiting.admitted(handle, place, queue, index);
        site.leases().watch(place);
        Duration told = place.told(now, site.sessions().sure(handle));
        Ear ear = place.ear();
        if (waited && ear != null) {
            ear.granted(place.counter(), told);
        }
        return done(new Renewed.Held(place.counter(), told));
    }

    private void discard(Handle handle, Place place) {
        String path = place.path();
        site.places().remove(place);
        if (path != null) {
            site.leftovers().remove(handle, path);
        }
    }

    // ---- claims that were sent before ----

    private CompletionStage<Renewed> search(Handle handle, Wish wish, int searches) {
        Claim claim = wish.claim();
        if (searches >= MOST_SEARCHES) {
            throw StoreException.unavailable(
                    Effect.UNKNOWN, "The nodes of claim " + claim.id() + " of \"" + claim.name() + "\" change", null);
        }
        String folder = site.paths().folder(claim.name());
        handle.sync(folder);
        return handle.children(folder)
                .thenCompose(reply ->
                        found(handle, wish, reply.isMissing() ? NodeQueue.EMPTY : NodeQueue.of(reply.get()), searches));
    }

    private CompletionStage<Renewed> found(Handle handle, Wish wish, NodeQueue queue, int searches) {
        Claim claim = wish.claim();
        String folder = site.paths().folder(claim.name());
        List<NodeName> nodes = queue.of(claim.id()).stream()
                .filter(node -> !site.leftovers().isDoomed(folder + '/' + node.text()))
                .toList();
        Place known = site.places().find(claim.id());
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
            Place place = known != null ? known : new Place(claim, folder, wish.ear());
            Place other = known != null ? known : site.places().add(place);
            if (other != null && other != place) {
                return search(handle, wish, searches + 1);
            }
            place.found(node, stat.getEphemeralOwner(), stat.getCzxid());
            return again(handle, place, wish, queue, searches);
        });
    }

    // A node of an expired session will go at any moment: it is no grant, however near the front it is (CURATOR-604).
    private CompletionStage<Renewed> removeOfAnotherSession(Handle handle, String path, Wish wish, int searches) {
        return handle.delete(path).thenCompose(reply -> {
            if (!reply.isOk() && !reply.isMissing()) {
                throw reply.failure();
            }
            Place known = site.places().find(wish.claim().id());
            if (known != null) {
                site.places().remove(known);
            }
            return search(handle, wish, searches + 1);
        });
    }

    private CompletionStage<Renewed> again(Handle handle, Place place, Wish wish, NodeQueue queue, int searches) {
        Claim claim = wish.claim();
        Ear ear = wish.ear();
        NodeName node = place.node();
        if (node == null) {
            return search(handle, wish, searches + 1);
        }
        if (ear == null) {
            int index = queue.before(node.text());
            boolean waits = index >= 0 && !queue.isHolder(index);
            if (place.state() == Place.State.WAITING && waits) {
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
            Handle handle, Place place, NodeName node, Wish wish, NodeQueue queue, int searches) {
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
