package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.client.ServerError;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.BlockingCalls;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The port on Jedis, for one server, or for whichever of several is the primary. A blocking socket spares two thread wake-ups
 * for each trip, so calls are made on the calling thread; see {@link BlockingCalls} for the exceptions.
 */
final class JedisPort implements RedisPort {

    /** Waiting for a connection, opening it over two addresses, greeting, the call, the call with its text. */
    static final int WAITS = 6;

    /** And asking the Sentinels, and the server whether it is the primary. */
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
        // An interrupt does not reach a platform thread in a socket's read, so calls may be made there.
        this.workCalls = new BlockingCalls("holdfast-redis-work", options.connections(), true);
        this.renewalCalls = new BlockingCalls("holdfast-redis-renewal", 1, true);
    }

    @Override
    public CompletionStage<List<Integer>> slots() {
        return CompletableFuture.completedStage(List.of(0));
    }

    @Override
    public boolean isCluster() {
        return false;
    }

    @Override
    public <T> CompletionStage<T> run(ServerCall call, Function<Object, T> reader) {
        return workCalls.call(() -> read(() -> reader.apply(here(call, node.run(call, false)))));
    }

    @Override
    public <T> CompletionStage<T> runAll(List<ServerCall> calls, Function<List<Object>, T> reader) {
        return renewalCalls.call(() -> read(() -> {
            node.subscription().check();
            List<Object> replies = new ArrayList<>(calls.isEmpty() ? List.of() : node.runAll(calls));
            for (int i = 0; i < replies.size(); i++) {
                if (replies.get(i) instanceof Exchange.Elsewhere) {
                    replies.set(i, isACluster(calls.get(i)));
                }
            }
            return reader.apply(replies);
        }));
    }

    private static @Nullable Object here(ServerCall call, @Nullable Object reply) {
        if (reply instanceof Exchange.Elsewhere) {
            throw isACluster(call);
        }
        return reply;
    }

    private static StoreException isACluster(ServerCall call) {
        return ServerError.of("MOVED to another node", call.subject(), null);
    }

    @Override
    public CompletionStage<Void> subscribe(String channel, Subscriber subscriber) {
        return workCalls.call(() -> {
            Channel heard = channels.computeIfAbsent(channel, name -> new Channel(name, subscriber, clock));
            node.subscription().add(heard);
            heard.awaitConfirmation(node.subscription().patience(), node);
            return null;
        });
    }

    @Override
    public void unsubscribe(String channel) {
        channels.remove(channel);
        node.subscription().remove(channel);
    }

    // A reader that finds what no script answers has found a foreign script or a broken server.
    static <T> T read(Supplier<T> call) {
        try {
            return call.get();
        } catch (StoreException expected) {
            throw expected;
        } catch (RuntimeException unreadable) {
            throw StoreException.unavailable(
                    Effect.UNKNOWN, "An answer of the server cannot be read: " + unreadable, unreadable);
        }
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
