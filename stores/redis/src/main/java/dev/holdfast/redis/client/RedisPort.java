package dev.holdfast.redis.client;

import dev.holdfast.spi.StoreTraits.NodeRole;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * All that the store needs of a client library: run a script, run several in one flush, and stay subscribed. The
 * rules of locking are in the scripts and in {@code RecordLockStore}; an implementation moves bytes, finds the
 * server that serves a slot, and translates failures.
 *
 * <p>A stage fails with a {@link dev.holdfast.spi.StoreException} only. Replies are {@link Long}, {@code byte[]},
 * {@link List} of replies, or null; an {@link Unacknowledged} stands for the reply to a call that asked for the
 * acknowledgement of {@link ServerCall#replicas()} and did not get it. A reader is applied to the replies when the
 * port holds no mutex and no borrowed connection any more, because the reader notifies listeners. What the reader
 * throws fails the stage.
 *
 * <p>A call may be a single command ({@link ServerCall#command()}). An error that {@link ServerCall#isNotKnown}
 * recognises is then not a failure but the answer {@link ServerCall.NotKnown}.
 *
 * <p>A script that the server does not know (after {@code SCRIPT FLUSH}, a restart, a fail-over) is sent again with
 * its text. On a cluster, a call goes to the primary that serves its {@link ServerCall#slot()}, and follows
 * {@code MOVED} and {@code ASK}.
 */
public interface RedisPort extends AutoCloseable {

    /**
     * One slot of each primary, so that a search through all keys can ask every primary. Only slot 0 if the keys
     * are not spread over a cluster.
     */
    CompletionStage<List<Integer>> slots();

    /** Whether the keys are spread over a cluster by their hash slots. Always returns the same value. */
    boolean isCluster();

    /** How a store on this port can be one node of a quorum. Always returns the same value. */
    NodeRole nodeRole();

    /** Runs a script. */
    <T> CompletionStage<T> run(ServerCall call, Function<Object, T> reader);

    /**
     * Sends several calls in one flush for each server, to all servers at once, on connections that {@link #run}
     * never uses. A failure at one server affects only the calls to that server.
     *
     * @param reader receives for each call its reply, or the {@link dev.holdfast.spi.StoreException} that it failed
     *     with
     */
    <T> CompletionStage<T> runAll(List<ServerCall> calls, Function<List<Object>, T> reader);

    /**
     * Subscribes to a channel and stays subscribed: a connection that breaks is replaced, and on a cluster the
     * subscription moves with the channel's slot to the node that serves it.
     *
     * @param channel on a cluster a sharded channel, or a plain channel of the node that serves its slot if that
     *     node does not know sharded ones
     * @return is completed when the server has confirmed the first subscription
     */
    CompletionStage<Void> subscribe(String channel, Subscriber subscriber);

    /**
     * Subscribes to a channel anew, where new connections lead to, because the server that serves it knows no
     * subscriber. Does not wait for the server, and does nothing if a new subscription is being made.
     */
    void resubscribe(String channel);

    /** Ends a subscription, without waiting for the server. */
    void unsubscribe(String channel);

    /** The longest time that one call takes until its outcome is known. */
    Duration callTimeout();

    /** Ends the subscriptions and closes whatever this port has opened itself. Idempotent. */
    @Override
    void close();

    /** Receives what is published on a channel. Called on a thread of the port, one call at a time. */
    interface Subscriber {

        /** Something was published on the channel. */
        void message(String text);

        /**
         * The subscription was lost and has been confirmed again. Messages published in between were not received.
         */
        void resubscribed();
    }
}
