package dev.holdfast.redis.lettuce;

import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The connections that a client of Lettuce makes to one server, or to the nodes of a cluster. They are opened when
 * needed.
 */
interface Links extends AutoCloseable {

    boolean isCluster();

    /** A slot of each primary. */
    List<Integer> slots();

    /** The connection to the server that serves a slot; renewals have a connection of their own. */
    CompletableFuture<Link> to(int slot, boolean renewals);

    /**
     * The connection to a node that another one has named.
     *
     * @param host null if the other one does not know it
     */
    CompletableFuture<Link> to(@Nullable String host, int port, boolean renewals);

    /** The connection on which the channels of a slot are subscribed. */
    CompletableFuture<StatefulRedisPubSubConnection<byte[], byte[]>> pubSub(int slot);

    /**
     * Probes the connection of the channels; if no answer comes in time, {@link #pubSub} makes a new one. Does not
     * wait.
     */
    void checkPubSub();

    /**
     * Reports that the connection of the channels leads to a server that is not the primary any more, so that
     * {@link #pubSub} makes another one. Does nothing on a cluster, where each channel follows its slot.
     */
    void suspectPubSub();

    /**
     * Reports that a server did not answer as expected. On a cluster, asks which node serves which slot. Does not
     * wait.
     */
    void suspect();

    /**
     * On a cluster, asks which node serves which slot. Is completed when the answer is known, and fails when it is not
     * known in time.
     */
    CompletableFuture<?> refreshed();

    /** Closes the connections. */
    @Override
    void close();

    /** Fails calls from now on, and leaves the connections to be closed with their client, which warns of those that are closed already. */
    void refuse();
}
