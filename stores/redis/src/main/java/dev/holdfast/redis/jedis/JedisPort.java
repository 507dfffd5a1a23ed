package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.client.ServerError;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits.NodeRole;
import dev.holdfast.store.BlockingCalls;
import dev.holdfast.store.TimeLimit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The port on Jedis, for one server, or for the current primary of several. A blocking socket saves two thread
 * wake-ups for each round trip, so calls are made on the calling thread; see {@link BlockingCalls} for the
 * exceptions.
 */
final class JedisPort implements RedisPort {

    /**
     * How many time-outs a call may take: the wait for a connection, opening it over two addresses, the handshake,
     * the call, and the call with its text.
     */
    static final int WAITS = 6;

    /** The same with Sentinels: a call may also ask them, and then ask the server whether it is the primary. */
    static final int WAITS_WITH_SENTINELS = 12;

    private final JedisNode node;
    private final Duration callTimeout;
    private final MonotonicClock clock;
    private final Map<String, Channel> channels = new ConcurrentHashMap<>();
    private final BlockingCalls workCalls;
    private final BlockingCalls renewalCalls;

    JedisPort(ConnectionSource source, RedisOptions options, int waits, MonotonicClock clock) {
        this.node = new JedisNode(source, clock, null);
        this.clock = clock;
        this.callTimeout = options.callTimeout(waits);
        // An interrupt does not end a socket read on a platform thread, so calls may run on the calling thread
        // there.
        TimeLimit turns = new TimeLimit(options.timeout());
        this.workCalls = new BlockingCalls("holdfast-redis-work", options.connections(), true, turns);
        this.renewalCalls = new BlockingCalls("holdfast-redis-renewal", 1, true, turns);
    }

    @Override
    public CompletionStage<List<Integer>> slots() {
        return CompletableFuture.completedStage(List.of(0));
    }

    @Override
    public NodeRole nodeRole() {
        return NodeRole.BLOCKING;
    }

    @Override
    public boolean isCluster() {
        return false;
    }

    @Override
    public <T> CompletionStage<T> run(ServerCall call, Function<Object, T> reader) {
        return workCalls.call(() ->
                Replies.read(() -> reader.apply(requireNoRedirection(call, node.run(call, false)))));
    }

    @Override
    public <T> CompletionStage<T> runAll(List<ServerCall> calls, Function<List<Object>, T> reader) {
        return renewalCalls.call(() -> Replies.read(() -> {
            node.subscription().check();
            List<Object> replies = new ArrayList<>(calls.isEmpty() ? List.of() : node.runAll(calls));
            for (int i = 0; i < replies.size(); i++) {
                if (replies.get(i) instanceof Exchange.Redirection) {
                    replies.set(i, unexpectedRedirection(calls.get(i)));
                }
            }
            return reader.apply(replies);
        }));
    }

    private static @Nullable Object requireNoRedirection(ServerCall call, @Nullable Object reply) {
        if (reply instanceof Exchange.Redirection) {
            throw unexpectedRedirection(call);
        }
        return reply;
    }

    private static StoreException unexpectedRedirection(ServerCall call) {
        return ServerError.of("MOVED to another node", call.subject(), null);
    }

    @Override
    public CompletionStage<Void> subscribe(String channel, Subscriber subscriber) {
        return workCalls.call(() -> {
            Channel subscribed = channels.computeIfAbsent(channel, name -> new Channel(name, subscriber, clock));
            node.subscription().add(subscribed);
            node.subscription().awaitConfirmation(subscribed, node);
            return null;
        });
    }

    @Override
    public void resubscribe(String channel) {
        node.subscription().replace(channel);
    }

    @Override
    public void unsubscribe(String channel) {
        channels.remove(channel);
        node.subscription().remove(channel);
    }

    @Override
    public Duration callTimeout() {
        return callTimeout;
    }

    @Override
    public void close() {
        workCalls.close();
        renewalCalls.close();
        node.close();
    }

    @Override
    public String toString() {
        return node.toString();
    }
}
