package dev.holdfast.redis.client;

import dev.holdfast.redis.RedisLockStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * All that the store needs of a client library: run a script, run several in one flush, and stay subscribed. What the laws
 * ask is in the scripts and in {@link RedisLockStore}; an implementation moves bytes, finds the server that serves a slot, and
 * names failures.
 *
 * <p>A stage fails with a {@link dev.holdfast.spi.StoreException} only. Replies are {@link Long}, {@code byte[]}, {@link List}
 * of replies, or null; an {@link Unacknowledged} stands for the reply to a call that asked for {@link ServerCall#replicas()}
 * and did not get them. A reader is applied to them when nothing of the port is locked or borrowed any more, because it tells
 * listeners; what it throws fails the stage.
 *
 * <p>A call may be of a single command ({@link ServerCall#command()}); an error that {@link ServerCall#isNotKnown} recognises is
 * then not a failure but the answer {@link ServerCall.NotKnown}.
 *
 * <p>A script that the server does not know (after {@code SCRIPT FLUSH}, a restart, a fail-over) is sent again with its text.
 * On a cluster, a call goes to the primary that serves its {@link ServerCall#slot()}, and follows {@code MOVED} and {@code
 * ASK}.
 */
public interface RedisPort extends AutoCloseable {

    /**
     * A slot of each primary: what a search through all keys must ask. One slot, 0, if the keys are not spread over a cluster.
     */
    CompletionStage<List<Integer>> slots();

    /** Whether the keys are spread over a cluster by their hash slots. A constant. */
    boolean isCluster();

    /** Runs a script. */
    <T> CompletionStage<T> run(ServerCall call, Function<Object, T> reader);

    /**
     * Sends several calls in one flush for each server, to all servers at once, on connections that {@link #run} never uses.
     * What fails at one server concerns the calls to that one only.
     *
     * @param reader is given a reply, or the {@link dev.holdfast.spi.StoreException} that it failed with, for each call
     */
    <T> CompletionStage<T> runAll(List<ServerCall> calls, Function<List<Object>, T> reader);

    /**
     * Subscribes to a channel and stays subscribed: a connection that breaks is replaced, and on a cluster the channel is
     * followed to the node that serves its slot.
     *
     * @param channel on a cluster a sharded channel, or a plain one of the node that serves its slot if that knows no sharded
     *     ones
     * @return is completed when the server has confirmed the first subscription
     */
    CompletionStage<Void> subscribe(String channel, Subscriber subscriber);

    /** Ends a subscription, without waiting for the server. */
    void unsubscribe(String channel);

    /** The longest time that one call takes, its outcome included. */
    Duration callTimeout();

    /** Ends the subscriptions and whatever this port has opened itself. Idempotent. */
    @Override
    void close();

    /** Hears what is published. Called on a thread of the port's, one call at a time. */
    interface Subscriber {

        /** Something was published on the channel. */
        void message(String text);

        /** The subscription was lost and has been confirmed again; what was published meanwhile went unheard. */
        void resubscribed();
    }
}
