package dev.holdfast.redis;

import dev.holdfast.spi.BlockingCalls;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * The port on Jedis. A blocking socket spares two thread wake-ups for each trip, so calls are made on the calling thread; see
 * {@link BlockingCalls} for the exceptions.
 */
final class JedisPort implements RedisPort {

    /** Waiting for a connection, opening it over two addresses, greeting, the call, the call with its text. */
    private static final int WAITS = 6;

    private static final Duration MARGIN = Duration.ofSeconds(1);

    private final ConnectionSource source;
    private final MonotonicClock clock;
    private final BlockingCalls workCalls;
    private final BlockingCalls renewalCalls;
    private final ReservedConnection reserved;
    private final StandingSubscription subscription;

    JedisPort(ConnectionSource source, RedisOptions options, MonotonicClock clock) {
        this.source = source;
        this.clock = clock;
        // An interrupt does not reach a platform thread in a socket's read, so calls may be made there.
        this.workCalls = new BlockingCalls("holdfast-redis-work", options.connections(), true);
        this.renewalCalls = new BlockingCalls("holdfast-redis-renewal", 1, true);
        this.reserved = new ReservedConnection(source, clock);
        this.subscription = new StandingSubscription(source, clock);
    }

    @Override
    public <T> CompletionStage<T> run(ScriptCall call, Function<Object, T> reader) {
        return workCalls.call(() -> read(() -> {
            Connection connection = source.borrow();
            Object reply;
            try {
                reply = exchange(connection, call);
            } finally {
                source.giveBack(connection);
            }
            return reader.apply(reply);
        }));
    }

    @Override
    public <T> CompletionStage<T> runAll(List<ScriptCall> calls, Function<List<Object>, T> reader) {
        return renewalCalls.call(() -> read(() -> {
            subscription.check();
            return reader.apply(
                    calls.isEmpty() ? List.of() : reserved.use(connection -> exchangeAll(connection, calls)));
        }));
    }

    @Override
    public CompletionStage<Void> subscribe(String channel, Subscriber subscriber) {
        return workCalls.call(() -> {
            subscription.begin(channel, subscriber);
            return null;
        });
    }

    // A reader that finds what no script answers has found a foreign script or a broken server.
    private static <T> T read(Supplier<T> call) {
        try {
            return call.get();
        } catch (StoreException expected) {
            throw expected;
        } catch (RuntimeException unreadable) {
            throw StoreException.unavailable(
                    Effect.UNKNOWN, "An answer of the server cannot be read: " + unreadable, unreadable);
        }
    }

    private Object exchange(Connection connection, ScriptCall call) {
        try {
            try {
                return connection.executeCommand(byDigest(call));
            } catch (JedisNoScriptException unknown) {
                return connection.executeCommand(byText(call));
            }
        } catch (JedisDataException refused) {
            throw ServerError.of(String.valueOf(refused.getMessage()), subject(call), refused);
        } catch (JedisException failure) {
            throw lost(connection, failure);
        }
    }

    private List<Object> exchangeAll(Connection connection, List<ScriptCall> calls) {
        List<Object> replies = sendAll(connection, calls, JedisPort::byDigest);
        List<Integer> unknown = new ArrayList<>();
        for (int i = 0; i < replies.size(); i++) {
            if (replies.get(i) instanceof NoScript) {
                unknown.add(i);
            }
        }
        if (!unknown.isEmpty()) {
            List<Object> again =
                    sendAll(connection, unknown.stream().map(calls::get).toList(), JedisPort::byText);
            for (int i = 0; i < again.size(); i++) {
                replies.set(unknown.get(i), again.get(i));
            }
        }
        return replies;
    }

    /** Stands for the reply to a call that must be sent again. */
    private enum NoScript {
        NO_SCRIPT
    }

    // One flush: the first read sends what was written. What is answered before the connection breaks stays answered.
    private List<Object> sendAll(
            Connection connection, List<ScriptCall> calls, Function<ScriptCall, CommandArguments> form) {
        List<Object> replies = new ArrayList<>(calls.size());
        long deadline = clock.nanoTime() + 2 * source.timeout().toNanos();
        StoreException broken = null;
        try {
            calls.forEach(call -> connection.sendCommand(form.apply(call)));
        } catch (JedisException failure) {
            broken = lost(connection, failure);
        }
        for (ScriptCall call : calls) {
            if (broken == null && clock.nanoTime() - deadline > 0) {
                broken = lost(connection, new JedisConnectionException("the replies took too long"));
            }
            if (broken != null) {
                replies.add(broken);
                continue;
            }
            try {
                replies.add(connection.getOne());
            } catch (JedisNoScriptException unknown) {
                replies.add(NoScript.NO_SCRIPT);
            } catch (JedisDataException refused) {
                replies.add(ServerError.of(String.valueOf(refused.getMessage()), subject(call), refused));
            } catch (JedisException failure) {
                broken = lost(connection, failure);
                replies.add(broken);
            }
        }
        return replies;
    }

    private StoreException lost(Connection connection, JedisException failure) {
        connection.setBroken();
        return StoreException.unavailable(
                Effect.UNKNOWN,
                source + " has not answered (" + OwnConnections.innermost(failure) + "; a reply is waited for for "
                        + source.timeout().toMillis() + " ms), so the request may have been done or not",
                failure);
    }

    private static CommandArguments byDigest(ScriptCall call) {
        return command(Protocol.Command.EVALSHA, call.script().digest(), call);
    }

    private static CommandArguments byText(ScriptCall call) {
        return command(Protocol.Command.EVAL, call.script().text(), call);
    }

    private static CommandArguments command(Protocol.Command command, byte[] script, ScriptCall call) {
        CommandArguments arguments = new CommandArguments(command).add(script).add(ClaimBytes.number(call.keys()));
        for (byte[] argument : call.arguments()) {
            arguments.add(argument);
        }
        return arguments;
    }

    private static String subject(ScriptCall call) {
        return call.keys() == 0
                ? "all names"
                : new String(call.arguments()[0], StandardCharsets.UTF_8)
                        + (call.keys() > 1 ? " and " + (call.keys() - 1) + " more" : "");
    }

    @Override
    public Duration callTimeout() {
        return source.timeout().multipliedBy(WAITS).plus(MARGIN);
    }

    @Override
    public void close() {
        workCalls.close();
        renewalCalls.close();
        source.close();
        subscription.close();
        reserved.close();
    }

    @Override
    public String toString() {
        @Nullable String text = source.toString();
        return text == null ? "?" : text;
    }
}
