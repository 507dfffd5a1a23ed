package dev.holdfast.redis.lettuce;

import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The connections that a client of Lettuce makes: to one server, or to the nodes of a cluster. They are opened when needed. */
interface Links extends AutoCloseable {

    boolean isCluster();

    /** A slot of each primary. */
    List<Integer> slots();

    /** The connection to whoever serves a slot; renewals have their own. */
    CompletableFuture<Link> to(int slot, boolean renewals);

    /** The connection to a node that another one has named. */
    CompletableFuture<Link> to(String host, int port, boolean renewals);

    /** The connection that hears the channels of a slot. */
    CompletableFuture<StatefulRedisPubSubConnection<byte[], byte[]>> hearing(int slot);

    /** Asks the connection that hears for a sign of life; without one in time {@link #hearing} makes a new one. Does not wait. */
    void checkHearing();

    /** A server did not answer as it should: asks who serves what, if there is a choice. Does not wait. */
    void suspect();

    /** Ends the connections. */
    @Override
    void close();
}
