package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.client.ServerError;
import dev.holdfast.redis.client.Unacknowledged;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.TimeLimit;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A connection of Lettuce to one server, shared by all callers.
 *
 * <p>When a connection breaks, Lettuce would send the commands that were under way again. A release that is
 * executed twice reports that there was nothing to release. So all commands under way fail when the connection
 * breaks, and the engine decides what to repeat.
 */
final class Link {

    private final StatefulRedisConnection<byte[], byte[]> connection;
    private final String host;
    private final TimeLimit timeLimit;
    private final Set<AsyncCommand<byte[], byte[], Object>> underWay = ConcurrentHashMap.newKeySet();
    private final AtomicLong answers = new AtomicLong();
    private volatile boolean spent;

    /** @param host the host of the server; empty if no redirection from this server is followed */
    Link(StatefulRedisConnection<byte[], byte[]> connection, String host, Duration timeout) {
        this.connection = connection;
        this.host = host;
        this.timeLimit = new TimeLimit(timeout);
        connection.addListener(new RedisConnectionStateListener() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> broken) {
                underWay.forEach(
                        command -> command.completeExceptionally(new RedisConnectionException("the connection broke")));
            }
        });
    }

    /**
     * How a call is sent: by the digest of its script, with its text, or with its text after ASKING because its
     * slot is being moved.
     */
    enum Form {
        DIGEST,
        TEXT,
        ASKING
    }

    /**
     * Whether a new connection should be made: this one is lost, or nothing has arrived for the time that a reply
     * may take, or the server has answered that it is a replica. A new connection leads to another server, if the
     * Sentinels or the name service name one.
     */
    boolean isSpent() {
        return spent || !connection.isOpen();
    }

    /** The host of the server; empty if no redirection from this server is followed. */
    String host() {
        return host;
    }

    /** Sends calls in one flush and returns their replies; each fails with the exception of Lettuce. */
    List<CompletableFuture<Object>> send(List<ServerCall> calls, Form form) {
        if (!connection.isOpen()) {
            StoreException away = StoreException.unavailable(
                    Effect.NONE, "The connection to the server is lost, and Lettuce is making a new one", null);
            return calls.stream()
                    .map(call -> CompletableFuture.<Object>failedFuture(away))
                    .toList();
        }
        List<AsyncCommand<byte[], byte[], Object>> commands = new ArrayList<>();
        List<CompletableFuture<Object>> replies = new ArrayList<>(calls.size());
        for (ServerCall call : calls) {
            if (form == Form.ASKING) {
                add(commands, CommandType.ASKING, new CommandArgs<>(ByteArrayCodec.INSTANCE));
            }
            replies.add(add(commands, type(call, form), arguments(call, form)));
        }
        ServerCall last = calls.get(calls.size() - 1);
        if (last.replicas() > 0) {
            CompletableFuture<Object> wait = add(
                    commands,
                    CommandType.WAIT,
                    new CommandArgs<>(ByteArrayCodec.INSTANCE)
                            .add(last.replicas())
                            .add(last.replicaTimeout().toMillis()));
            replies.replaceAll(reply -> acknowledged(reply, wait, last));
        }
        if (commands.size() == 1) {
            connection.dispatch(commands.get(0));
        } else {
            // Sent together, so that no command of another caller comes in between.
            connection.dispatch(commands);
        }
        return replies;
    }

    private static CompletableFuture<Object> acknowledged(
            CompletableFuture<Object> reply, CompletableFuture<Object> wait, ServerCall call) {
        CompletableFuture<@Nullable Object> answer =
                wait.handle((count, failure) -> failure == null ? count : failure.getMessage());
        return reply.thenCombine(answer, (done, acks) -> Unacknowledged.unless(done, call, acks));
    }

    private static ProtocolKeyword type(ServerCall call, Form form) {
        String name = call.command();
        if (name != null) {
            return new ProtocolKeyword() {
                @Override
                public byte[] getBytes() {
                    return name.getBytes(StandardCharsets.US_ASCII);
                }

                @Override
                public String toString() {
                    return name;
                }
            };
        }
        return form == Form.DIGEST ? CommandType.EVALSHA : CommandType.EVAL;
    }

    /**
     * Adds a command to those that will be sent, and returns its reply. The reply is a future of its own, because
     * the callbacks of one future run in no promised order: who learns from a reply that the server is a replica
     * must find this connection spent.
     */
    private CompletableFuture<Object> add(
            List<AsyncCommand<byte[], byte[], Object>> commands,
            ProtocolKeyword type,
            CommandArgs<byte[], byte[]> arguments) {
        AsyncCommand<byte[], byte[], Object> command =
                new AsyncCommand<>(new Command<>(type, new ReplyOutput(), arguments));
        CompletableFuture<Object> answer = new CompletableFuture<>();
        underWay.add(command);
        long before = answers.get();
        timeLimit.on(command).whenComplete((reply, failure) -> {
            underWay.remove(command);
            answered(failure, before);
            if (failure == null) {
                answer.complete(reply);
            } else {
                answer.completeExceptionally(failure);
            }
        });
        commands.add(command);
        return answer;
    }

    private void answered(@Nullable Throwable failure, long before) {
        if (failure == null || failure instanceof RedisCommandExecutionException) {
            answers.incrementAndGet();
        }
        boolean silent = failure instanceof TimeoutException && answers.get() == before;
        if (silent || (failure != null && ServerError.isOfReplica(String.valueOf(failure.getMessage())))) {
            spent = true;
        }
    }

    private static CommandArgs<byte[], byte[]> arguments(ServerCall call, Form form) {
        CommandArgs<byte[], byte[]> arguments = new CommandArgs<>(ByteArrayCodec.INSTANCE);
        if (call.command() == null) {
            if (form == Form.DIGEST) {
                arguments.add(new String(call.script().digest(), StandardCharsets.US_ASCII));
            } else {
                arguments.add(call.script().text());
            }
            arguments.add(call.keys());
        }
        byte[][] all = call.arguments();
        for (int i = 0; i < all.length; i++) {
            if (i < call.keys()) {
                arguments.addKey(all[i]);
            } else {
                arguments.addValue(all[i]);
            }
        }
        return arguments;
    }

    void close() {
        connection.closeAsync();
    }
}
