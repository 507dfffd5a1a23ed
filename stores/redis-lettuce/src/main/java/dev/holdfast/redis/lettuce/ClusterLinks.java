package dev.holdfast.redis.lettuce;

import io.lettuce.core.RedisURI;
import io.lettuce.core.api.AsyncCloseable;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.cluster.pubsub.StatefulRedisClusterPubSubConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Connections to the nodes of a cluster, through a client of Lettuce. */
final class ClusterLinks implements Links {

    private final RedisClusterClient client;
    private final Duration timeout;
    private final ServerLinks.Once<StatefulRedisClusterConnection<byte[], byte[]>> work;
    private final ServerLinks.Once<StatefulRedisClusterConnection<byte[], byte[]>> renewals;
    private final ServerLinks.Once<StatefulRedisClusterPubSubConnection<byte[], byte[]>> pubSub;
    private final Map<StatefulRedisConnection<byte[], byte[]>, Link> links = new ConcurrentHashMap<>();

    ClusterLinks(RedisClusterClient client, Duration timeout) {
        this.client = client;
        this.timeout = timeout;
        this.work = once(() -> client.connectAsync(ByteArrayCodec.INSTANCE));
        this.renewals = once(() -> client.connectAsync(ByteArrayCodec.INSTANCE));
        this.pubSub = once(() -> client.connectPubSubAsync(ByteArrayCodec.INSTANCE));
    }

    // Nothing is ever replaced here, because Lettuce itself replaces lost connections to the nodes.
    private static <T extends AsyncCloseable> ServerLinks.Once<T> once(Supplier<CompletableFuture<T>> maker) {
        return new ServerLinks.Once<>(() -> Connecting.connect(maker), made -> false, AsyncCloseable::closeAsync);
    }

    @Override
    public boolean isCluster() {
        return true;
    }

    @Override
    public List<Integer> slots() {
        List<Integer> first = new ArrayList<>();
        for (RedisClusterNode node : client.getPartitions()) {
            if (!node.getSlots().isEmpty()) {
                first.add(node.getSlots().get(0));
            }
        }
        return first;
    }

    @Override
    public CompletableFuture<Link> to(int slot, boolean forRenewals) {
        return (forRenewals ? renewals : work).get().thenCompose(cluster -> {
            RedisClusterNode owner = owner(slot);
            return cluster.getConnectionAsync(owner.getNodeId())
                    .thenApply(made -> link(made, owner.getUri().getHost()));
        });
    }

    @Override
    public CompletableFuture<Link> to(@Nullable String named, int port, boolean forRenewals) {
        return (forRenewals ? renewals : work).get().thenCompose(cluster -> {
            String host = named == null ? hostOf(port) : named;
            return cluster.getConnectionAsync(host, port).thenApply(made -> link(made, host));
        });
    }

    private String hostOf(int port) {
        List<String> hosts = client.getPartitions().stream()
                .map(RedisClusterNode::getUri)
                .filter(uri -> uri != null && uri.getPort() == port)
                .map(RedisURI::getHost)
                .distinct()
                .toList();
        if (hosts.size() != 1) {
            throw new IllegalStateException("a node of the cluster leads to another one with port " + port
                    + ", but does not know its host; set cluster-announce-hostname there");
        }
        return hosts.get(0);
    }

    // Connections to nodes that have left the cluster stay closed, so they are forgotten when a node has come.
    private Link link(StatefulRedisConnection<byte[], byte[]> connection, String host) {
        Link known = links.get(connection);
        if (known != null) {
            return known;
        }
        links.keySet().removeIf(other -> !other.isOpen());
        return links.computeIfAbsent(connection, made -> new Link(made, host, timeout));
    }

    private RedisClusterNode owner(int slot) {
        RedisClusterNode owner = client.getPartitions().getPartitionBySlot(slot);
        if (owner == null) {
            throw new IllegalStateException("no node of the cluster serves slot " + slot);
        }
        // The address of a node that is gone may be forgotten before the node is.
        if (owner.getUri() == null) {
            throw new IllegalStateException(
                    "the cluster does not know the address of the node that serves slot " + slot);
        }
        return owner;
    }

    @Override
    public CompletableFuture<StatefulRedisPubSubConnection<byte[], byte[]>> pubSub(int slot) {
        return pubSub.get()
                .thenCompose(cluster -> cluster.getConnectionAsync(owner(slot).getNodeId()));
    }

    // Nothing to do: a channel follows its slot, and so leaves a node that was replaced.
    @Override
    public void checkPubSub() {}

    @Override
    public void suspectPubSub() {}

    @Override
    public void suspect() {
        if (!client.isTopologyRefreshInProgress()) {
            refresh();
        }
    }

    // The user's client may wait for a minute. Connecting and asking may take one time-out each.
    @Override
    public CompletableFuture<?> refreshed() {
        return refresh().copy().orTimeout(2 * timeout.toMillis(), TimeUnit.MILLISECONDS);
    }

    // Lettuce throws here while its table has a node without an address. That must not replace the failure for
    // which the table is doubted; the client's own refreshes go on.
    private CompletableFuture<Void> refresh() {
        try {
            return client.refreshPartitionsAsync().toCompletableFuture();
        } catch (RuntimeException impossible) {
            return CompletableFuture.failedFuture(impossible);
        }
    }

    @Override
    public void close() {
        work.close();
        renewals.close();
        pubSub.close();
    }

    @Override
    public void refuse() {
        work.refuse();
        renewals.refuse();
        pubSub.refuse();
    }
}
