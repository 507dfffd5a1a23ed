package dev.holdfast.redis;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * All that the store needs of a client library: run a script, run several in one flush, and stay subscribed. What the laws
 * ask is in the scripts and in {@link RedisLockStore}; an implementation moves bytes and names failures.
 *
 * <p>A stage fails with a {@link dev.holdfast.spi.StoreException} only. Replies are {@link Long}, {@code byte[]}, {@link List}
 * of replies, or null. A reader is applied to them when nothing of the port is locked or borrowed any more, because it tells
 * listeners; what it throws fails the stage.
 *
 * <p>A script that the server does not know (after {@code SCRIPT FLUSH}, a restart, a fail-over) is sent again with its text.
 */
public interface RedisPort extends AutoCloseable {

    /** Runs a script. */
    <T> CompletionStage<T> run(ScriptCall call, Function<Object, T> reader);

    /**
     * Sends several calls in one flush, on a connection that {@link #run} never uses.
     *
     * @param reader is given a reply, or the {@link dev.holdfast.spi.StoreException} that it failed with, for each call
     */
    <T> CompletionStage<T> runAll(List<ScriptCall> calls, Function<List<Object>, T> reader);

    /**
     * Subscribes to a channel, unless that was done, and stays subscribed: a connection that breaks is replaced.
     *
     * @return is completed when the server has confirmed the first subscription
     */
    CompletionStage<Void> subscribe(String channel, Subscriber subscriber);

    /** The longest time that one call takes, its outcome included. */
    Duration callTimeout();

    /** Ends the subscription and whatever this port has opened itself. Idempotent. */
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
