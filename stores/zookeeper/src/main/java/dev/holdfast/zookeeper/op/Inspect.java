package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.zookeeper.claim.ClaimState;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.NodeData;
import dev.holdfast.zookeeper.node.NodeName;
import dev.holdfast.zookeeper.session.SessionClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Shows who holds and who waits, and which locks are in use. */
public final class Inspect {

    /** So many folders are looked into at once. */
    private static final int FOLDERS_AT_ONCE = 256;

    private final StoreContext site;
    private final Duration ticket;

    public Inspect(StoreContext site, Duration ticket) {
        this.site = site;
        this.ticket = ticket;
    }

    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        SessionClient handle = site.sessions().current();
        String folder = site.paths().folder(name);
        handle.sync(folder);
        return handle.children(folder).thenCompose(reply -> {
            AdmissionQueue queue = reply.isMissing() ? AdmissionQueue.EMPTY : AdmissionQueue.of(reply.get());
            CompletionStage<List<Entry>> entries = CompletableFuture.completedStage(new ArrayList<>());
            for (NodeName node : queue.all()) {
                entries = entries.thenCombine(handle.data(folder + '/' + node.text(), null), (list, data) -> {
                    if (data.isOk()) {
                        list.add(new Entry(node, data.get()));
                    } else if (!data.isMissing()) {
                        throw data.failure();
                    }
                    return list;
                });
            }
            return entries.thenApply(list -> state(name, list));
        });
    }

    private record Entry(NodeName node, SessionClient.Data data) {}

    // Nodes that went between the list and their data leave room: who holds is found out from those that are left.
    private Optional<ResourceState> state(LockName name, List<Entry> entries) {
        if (entries.isEmpty()) {
            return Optional.empty();
        }
        AdmissionQueue queue = AdmissionQueue.of(
                entries.stream().map(entry -> entry.node().text()).toList());
        List<ResourceState.Entry> holders = new ArrayList<>();
        List<ResourceState.Entry> waiters = new ArrayList<>();
        long counter = 0;
        for (int i = 0; i < entries.size(); i++) {
            boolean holds = queue.isHolder(i);
            ResourceState.Entry entry = entry(name, entries.get(i), holds);
            (holds ? holders : waiters).add(entry);
            counter = Math.max(counter, entry.counter());
        }
        return Optional.of(new ResourceState(name, queue.limit(), counter, holders, waiters));
    }

    private ResourceState.Entry entry(LockName name, Entry entry, boolean holds) {
        NodeName node = entry.node();
        SessionClient.Data data = entry.data();
        NodeData written = NodeData.parse(data.text()).orElseGet(() -> foreign(node, data));
        Claim claim = new Claim(name, node.id(), node.permits(), node.limit(), written.lease(), written.owner());
        long created = written.counter() != 0 ? written.counter() : data.stat().getCzxid();
        long age = site.clock().epochMicros() - data.stat().getCtime() * 1_000;
        ClaimState own = site.places().find(node.id());
        return new ResourceState.Entry(
                claim, holds ? created : 0, Duration.ofNanos(Math.max(0, age) * 1_000), remaining(written, own, holds));
    }

    // Another client's lease is kept by that client: what is known is that it ends with its session if it is dead.
    private Duration remaining(NodeData written, @Nullable ClaimState own, boolean holds) {
        if (!holds) {
            return ticket;
        }
        if (own != null && own.state() == ClaimState.State.HELD) {
            return Duration.ofNanos(Math.max(0, own.expires() - site.now()));
        }
        Duration session = site.sessions().timeout();
        return written.lease().compareTo(session) < 0 ? written.lease() : session;
    }

    // Curator writes the address of the client into its nodes.
    private NodeData foreign(NodeName node, SessionClient.Data data) {
        OwnerInfo owner = new OwnerInfo(node.id().client(), data.text(), 0, "", "", List.of());
        return new NodeData(site.sessions().timeout(), 0, false, owner);
    }

    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        SessionClient handle = site.sessions().current();
        handle.sync(site.paths().root());
        return handle.children(site.paths().root()).thenCompose(reply -> {
            List<String> children = reply.isMissing() ? List.of() : reply.get();
            Iterator<LockName> names = children.stream()
                    .map(site.paths()::lockOf)
                    .flatMap(Optional::stream)
                    .filter(name -> name.value().startsWith(prefix))
                    .sorted()
                    .iterator();
            return inUse(handle, names, new ArrayList<>(), limit);
        });
    }

    private CompletionStage<List<LockName>> inUse(
            SessionClient handle, Iterator<LockName> names, List<LockName> found, int limit) {
        if (found.size() >= limit || !names.hasNext()) {
            return CompletableFuture.completedStage(found.subList(0, Math.min(limit, found.size())));
        }
        CompletionStage<List<LockName>> asked = CompletableFuture.completedStage(found);
        for (int i = 0; i < FOLDERS_AT_ONCE && names.hasNext(); i++) {
            LockName name = names.next();
            asked = asked.thenCombine(handle.children(site.paths().folder(name)), (list, reply) -> {
                if (reply.isOk() && !AdmissionQueue.of(reply.get()).all().isEmpty()) {
                    list.add(name);
                } else if (!reply.isOk() && !reply.isMissing()) {
                    throw reply.failure();
                }
                return list;
            });
        }
        return asked.thenCompose(list -> inUse(handle, names, list, limit));
    }
}
