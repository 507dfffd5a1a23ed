package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.client.ServerError;
import dev.holdfast.redis.client.Unacknowledged;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.ServerAddress;
import dev.holdfast.store.TimeLimit;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.args.Rawable;
import redis.clients.jedis.exceptions.JedisAskDataException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.exceptions.JedisRedirectionException;

/**
 * Sends calls of scripts and reads their replies, on one connection of Jedis. A connection on which replies may be
 * unread is broken, whatever was thrown: the next one to use it would take them for the answers to its own calls.
 */
final class Exchange {

    /** How many time-outs a call may take: for its reply, and for the one to its text. */
    private static final int WAITS = 2;

    /**
     * How many of a batch: two until the last reply is waited for, one for that, and one to spare. So many has a call that also
     * waits for replicas, or for leave to ask a node.
     */
    private static final int WAITS_OF_A_BATCH = 4;

    private final Object endpoint;
    private final Duration timeout;
    private final TimeLimit limit;
    private final TimeLimit limitOfBatches;
    private final MonotonicClock clock;
    private final Runnable demoted;

    /**
     * @param endpoint the servers that the connections lead to, for messages
     * @param demoted is called when the server has answered that it is a replica
     */
    Exchange(Object endpoint, Duration timeout, MonotonicClock clock, Runnable demoted) {
        this.demoted = demoted;
        this.endpoint = endpoint;
        this.timeout = timeout;
        this.limit = new TimeLimit(timeout.multipliedBy(WAITS));
        this.limitOfBatches = new TimeLimit(timeout.multipliedBy(WAITS_OF_A_BATCH));
        this.clock = clock;
    }

    /**
     * Stands for the reply of a node that does not serve a slot, or no longer all of it. {@code once} is true for
     * ASK, false for MOVED.
     */
    record Redirection(HostAndPort named, boolean once) {

        static Redirection of(JedisRedirectionException elsewhere) {
            return new Redirection(elsewhere.getTargetNode(), elsewhere instanceof JedisAskDataException);
        }

        /** The other node; null if the one that was asked does not know its host. */
        @Nullable
        ServerAddress target(ServerAddress asked) {
            String host = Replies.host(named.getHost(), asked.host());
            return host == null ? null : new ServerAddress(host, named.getPort());
        }
    }

    /** Returns a reply, or {@link Redirection}. */
    @Nullable
    Object one(Connection connection, ServerCall call, boolean asking) {
        boolean isSimple = call.replicas() == 0 && !asking;
        try {
            return inTime(isSimple ? limit : limitOfBatches, connection, () -> sendKnown(connection, call, asking));
        } catch (JedisRedirectionException elsewhere) {
            return Redirection.of(elsewhere);
        } catch (JedisDataException refused) {
            if (call.isNotKnown(String.valueOf(refused.getMessage()))) {
                return ServerCall.NotKnown.NOT_KNOWN;
            }
            return fail(connection, call, refused);
        } catch (JedisException failure) {
            throw lost(connection, failure);
        } catch (RuntimeException | Error unfinished) {
            connection.setBroken();
            throw unfinished;
        }
    }

    // Sends again, with the text, what the server does not know.
    private static @Nullable Object sendKnown(Connection connection, ServerCall call, boolean asking) {
        Object reply;
        try {
            reply = send(connection, call, asking, byDigest(call));
        } catch (JedisNoScriptException unknown) {
            reply = send(connection, call, asking, byText(call));
        }
        return call.replicas() == 0 ? reply : Unacknowledged.unless(reply, call, acknowledged(connection));
    }

    // The command WAIT for the replicas is sent in the same flush.
    private static Object send(Connection connection, ServerCall call, boolean asking, CommandArguments command) {
        if (asking) {
            connection.executeCommand(Protocol.Command.ASKING);
        }
        if (call.replicas() == 0) {
            return connection.executeCommand(command);
        }
        connection.sendCommand(command);
        connection.sendCommand(wait(call));
        try {
            return connection.getOne();
        } catch (JedisDataException refused) {
            try {
                acknowledged(connection);
            } catch (JedisException closed) {
                // The server has closed the connection after the error, which is what the caller should know.
                connection.setBroken();
            }
            throw refused;
        }
    }

    private static CommandArguments wait(ServerCall call) {
        return new CommandArguments(Protocol.Command.WAIT)
                .add(ServerCall.number(call.replicas()))
                .add(ServerCall.number(call.replicaTimeout().toMillis()));
    }

    private static @Nullable Object acknowledged(Connection connection) {
        try {
            return connection.getOne();
        } catch (JedisDataException refused) {
            return String.valueOf(refused.getMessage());
        }
    }

    /** Returns a reply, {@link Redirection} or the failure for each call. */
    List<@Nullable Object> all(Connection connection, List<ServerCall> calls) {
        List<@Nullable Object> replies;
        try {
            replies = inTime(limitOfBatches, connection, () -> sendAllKnown(connection, calls));
        } catch (RuntimeException | Error unfinished) {
            connection.setBroken();
            throw unfinished;
        }
        if (replies.stream().anyMatch(Exchange::isOfReplica)) {
            connection.setBroken();
            demoted.run();
        }
        return replies;
    }

    // A large request does not fit into the buffers of the system. If the server does not read it, the write
    // blocks, for which a socket has no time-out, and with it the caller, or all further renewals; the system
    // gives up after a quarter of an hour.
    private static <T extends @Nullable Object> T inTime(TimeLimit limit, Connection connection, Supplier<T> work) {
        TimeLimit.Call call = limit.begin(() -> OwnConnections.end(connection));
        try {
            return work.get();
        } finally {
            if (!call.end()) {
                connection.setBroken(); // whoever used it next might have it closed
            }
        }
    }

    private List<@Nullable Object> sendAllKnown(Connection connection, List<ServerCall> calls) {
        List<@Nullable Object> replies = sendAll(connection, calls, Exchange::byDigest);
        List<Integer> unknown = new ArrayList<>();
        for (int i = 0; i < replies.size(); i++) {
            if (replies.get(i) instanceof NoScript) {
                unknown.add(i);
            }
        }
        if (!unknown.isEmpty()) {
            List<@Nullable Object> again =
                    sendAll(connection, unknown.stream().map(calls::get).toList(), Exchange::byText);
            for (int i = 0; i < again.size(); i++) {
                replies.set(unknown.get(i), again.get(i));
            }
        }
        return replies;
    }

    // New connections no longer lead to a server that has become a replica.
    private static boolean isOfReplica(@Nullable Object reply) {
        return reply instanceof StoreException failure
                && failure.getCause() instanceof JedisDataException refused
                && ServerError.isOfReplica(String.valueOf(refused.getMessage()));
    }

    /**
     * Stands for the reply to a call whose script the server does not know, so that it must be sent again with its
     * text.
     */
    private enum NoScript {
        NO_SCRIPT
    }

    // All calls are sent in one flush: the first read sends what was written. Replies that arrive before the
    // connection breaks are kept.
    private List<@Nullable Object> sendAll(
            Connection connection, List<ServerCall> calls, Function<ServerCall, CommandArguments> form) {
        List<@Nullable Object> replies = new ArrayList<>(calls.size());
        long deadline = clock.nanoTime() + 2 * timeout.toNanos();
        StoreException broken = null;
        ServerCall last = calls.get(calls.size() - 1);
        try {
            calls.forEach(call -> connection.sendCommand(form.apply(call)));
            if (last.replicas() > 0) {
                // One WAIT is enough for all calls, because it covers everything that this connection has written.
                connection.sendCommand(wait(last));
            }
        } catch (JedisException failure) {
            broken = lost(connection, failure);
        }
        for (ServerCall call : calls) {
            if (broken == null && clock.nanoTime() - deadline > 0) {
                broken = lost(connection, new JedisConnectionException("the replies took too long"));
            }
            Object reply = broken == null ? read(connection, call) : broken;
            replies.add(reply);
            broken = connection.isBroken() && reply instanceof StoreException failure ? failure : broken;
        }
        if (last.replicas() > 0) {
            acknowledge(connection, last, replies, broken);
        }
        return replies;
    }

    private @Nullable Object read(Connection connection, ServerCall call) {
        try {
            return connection.getOne();
        } catch (JedisNoScriptException unknown) {
            return NoScript.NO_SCRIPT;
        } catch (JedisRedirectionException elsewhere) {
            return Redirection.of(elsewhere);
        } catch (JedisDataException refused) {
            if (call.isNotKnown(String.valueOf(refused.getMessage()))) {
                return ServerCall.NotKnown.NOT_KNOWN;
            }
            if (ServerError.endsConnection(String.valueOf(refused.getMessage()))) {
                connection.setBroken();
            }
            return ServerError.of(String.valueOf(refused.getMessage()), call.subject(), refused);
        } catch (JedisException failure) {
            return lost(connection, failure);
        }
    }

    private void acknowledge(
            Connection connection, ServerCall call, List<@Nullable Object> replies, @Nullable StoreException broken) {
        Object answer = broken;
        try {
            answer = broken == null ? acknowledged(connection) : "the connection broke";
        } catch (JedisException failure) {
            answer = lost(connection, failure).getMessage();
        }
        for (int i = 0; i < replies.size(); i++) {
            Object reply = replies.get(i);
            if (!(reply instanceof NoScript || reply instanceof Redirection || reply instanceof StoreException)) {
                replies.set(i, Unacknowledged.unless(reply, call, answer));
            }
        }
    }

    private Object fail(Connection connection, ServerCall call, JedisDataException refused) {
        String message = String.valueOf(refused.getMessage());
        if (ServerError.isOfReplica(message)) {
            connection.setBroken();
            demoted.run();
        }
        if (ServerError.endsConnection(message)) {
            connection.setBroken();
        }
        throw ServerError.of(message, call.subject(), refused);
    }

    private StoreException lost(Connection connection, JedisException failure) {
        connection.setBroken();
        return StoreException.unavailable(
                Effect.UNKNOWN,
                endpoint + " has not answered (" + OwnConnections.innermost(failure)
                        + "; the wait for a reply is limited to " + timeout.toMillis()
                        + " ms), so the request may have been done or not",
                failure);
    }

    private static CommandArguments byDigest(ServerCall call) {
        String name = call.command();
        return name != null
                ? single(name, call)
                : command(Protocol.Command.EVALSHA, call.script().digest(), call);
    }

    private static CommandArguments byText(ServerCall call) {
        return command(Protocol.Command.EVAL, call.script().text(), call);
    }

    private static CommandArguments single(String name, ServerCall call) {
        byte[] bytes = name.getBytes(StandardCharsets.US_ASCII);
        return withArguments(new CommandArguments(() -> bytes), call);
    }

    private static CommandArguments command(Protocol.Command command, byte[] script, ServerCall call) {
        return withArguments(
                new CommandArguments(command)
                        .add(new Argument(script))
                        .add(new Argument(ServerCall.number(call.keys()))),
                call);
    }

    private static CommandArguments withArguments(CommandArguments command, ServerCall call) {
        for (byte[] argument : call.arguments()) {
            command.add(new Argument(argument));
        }
        return command;
    }

    // Jedis would copy plain byte arrays, which is a fifth of what a lock and its release allocate.
    private static final class Argument implements Rawable {

        private final byte[] bytes;

        private Argument(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public byte[] getRaw() {
            return bytes;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Argument argument && Arrays.equals(bytes, argument.bytes);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(bytes);
        }
    }
}
