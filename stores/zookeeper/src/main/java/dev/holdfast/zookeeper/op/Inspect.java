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

/** Reports which claims hold or wait, and which locks are in use. */
public final class Inspect {

    /** The number of parent nodes whose children are listed at the same time. */
    private static final int CONCURRENT_LISTS = 256;

    private final StoreContext context;
    private final Duration ticketTtl;

    public Inspect(StoreContext context, Duration ticketTtl) {
        this.context = context;
        this.ticketTtl = ticketTtl;
    }

    /** Shows all holders, and so many of those who wait: the data of each node is a request. */
    public CompletionStage<Optional<ResourceState>> inspect(LockName name, int waiters) {
        SessionClient client = context.sessions().current();
        String parent = context.paths().parent(name);
        client.sync(parent);
        return client.children(parent).thenCompose(reply -> {
            AdmissionQueue queue = reply.isMissing() ? AdmissionQueue.EMPTY : AdmissionQueue.of(reply.get());
            CompletionStage<List<Entry>> entries = CompletableFuture.completedStage(new ArrayList<>());
            for (NodeName node : queue.first(waiters)) {
                entries = entries.thenCombine(client.data(parent + '/' + node.text(), null), (list, data) -> {
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

    // Nodes that were deleted between the list and the read of their data do not count when the holders are found.
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
            boolean holds = queue.isAdmitted(i);
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
        long age = context.clock().epochMicros() - data.stat().getCtime() * 1_000;
        ClaimState own = context.claims().find(node.id());
        return new ResourceState.Entry(
                claim, holds ? created : 0, Duration.ofNanos(Math.max(0, age) * 1_000), remaining(written, own, holds));
    }

    // Another client ends its leases itself. This one knows only that a dead client's grant ends with its session.
    private Duration remaining(NodeData written, @Nullable ClaimState own, boolean holds) {
        if (!holds) {
            return ticketTtl;
        }
        if (own != null && own.state() == ClaimState.State.HELD) {
            return Duration.ofNanos(Math.max(0, own.expires() - context.now()));
        }
        Duration session = context.sessions().timeout();
        return written.lease().compareTo(session) < 0 ? written.lease() : session;
    }

    // The data of Curator's nodes is the address of the client, or the id of a participant of a LeaderSelector.
    private NodeData foreign(NodeName node, SessionClient.Data data) {
        OwnerInfo owner = new OwnerInfo(node.id().client(), "", 0, "", data.text(), List.of());
        return new NodeData(context.sessions().timeout(), 0, false, owner);
    }

    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        SessionClient client = context.sessions().current();
        client.sync(context.paths().root());
        return client.children(context.paths().root()).thenCompose(reply -> {
            List<String> children = reply.isMissing() ? List.of() : reply.get();
            Iterator<LockName> names = children.stream()
                    .map(context.paths()::lockOf)
                    .flatMap(Optional::stream)
                    .filter(name -> name.value().startsWith(prefix))
                    .sorted()
                    .iterator();
            return inUse(client, names, new ArrayList<>(), limit);
        });
    }

    private CompletionStage<List<LockName>> inUse(
            SessionClient client, Iterator<LockName> names, List<LockName> found, int limit) {
        if (found.size() >= limit || !names.hasNext()) {
            return CompletableFuture.completedStage(found.subList(0, Math.min(limit, found.size())));
        }
        CompletionStage<List<LockName>> pending = CompletableFuture.completedStage(found);
        for (int i = 0; i < CONCURRENT_LISTS && names.hasNext(); i++) {
            LockName name = names.next();
            pending = pending.thenCombine(client.children(context.paths().parent(name)), (list, reply) -> {
                if (reply.isOk() && !AdmissionQueue.of(reply.get()).entries().isEmpty()) {
                    list.add(name);
                } else if (!reply.isOk() && !reply.isMissing()) {
                    throw reply.failure();
                }
                return list;
            });
        }
        return pending.thenCompose(list -> inUse(client, names, list, limit));
    }
}
