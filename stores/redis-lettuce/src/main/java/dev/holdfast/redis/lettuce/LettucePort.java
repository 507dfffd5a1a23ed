package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.client.DividedCalls;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.client.ServerError;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits.NodeRole;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The port on Lettuce. No call blocks; results and messages are reported on Lettuce's threads. */
final class LettucePort implements RedisPort {

    /** How often a call follows a redirection to another node. */
    private static final int MAX_REDIRECTIONS = 5;

    private static final Pattern REDIRECTION = Pattern.compile("^(MOVED|ASK) \\d+ (.*):(\\d+)$");

    private final Links links;
    private final String endpoint;
    private final Duration callTimeout;
    private final @Nullable Runnable endOfClient;
    private final Subscriptions subscriptions;
    private final DividedCalls dividedCalls;

    /**
     * @param endpoint the name of the servers in messages
     * @param timeout how long a reply may be waited for
     * @param endOfClient ends the client with its connections, if it is ours
     */
    LettucePort(
            Links links,
            String endpoint,
            Duration timeout,
            Duration callTimeout,
            MonotonicClock clock,
            @Nullable Runnable endOfClient) {
        this.links = links;
        this.endpoint = endpoint;
        this.callTimeout = callTimeout;
        this.endOfClient = endOfClient;
        this.subscriptions = new Subscriptions(links, timeout, clock);
        this.dividedCalls = new DividedCalls(timeout, clock);
    }

    @Override
    public CompletionStage<List<Integer>> slots() {
        return CompletableFuture.completedStage(links.slots());
    }

    @Override
    public NodeRole nodeRole() {
        return isCluster() ? NodeRole.NONE : NodeRole.DIRECT;
    }

    @Override
    public boolean isCluster() {
        return links.isCluster();
    }

    @Override
    public <T> CompletionStage<T> run(ServerCall call, Function<Object, T> reader) {
        return links.isCluster()
                ? dividedCalls.call(() -> answered(call, reader), () -> answered(call, reader))
                : answered(call, reader);
    }

    private <T> CompletionStage<T> answered(ServerCall call, Function<Object, T> reader) {
        return finished(sent(call, false), call).thenApply(reply -> Replies.read(() -> reader.apply(reply)));
    }

    @Override
    public <T> CompletionStage<T> runAll(List<ServerCall> calls, Function<List<Object>, T> reader) {
        subscriptions.check();
        CompletableFuture<?>[] replies = new CompletableFuture<?>[calls.size()];
        Map<Link, List<Integer>> parts = new LinkedHashMap<>();
        for (int i = 0; i < calls.size(); i++) {
            CompletableFuture<Link> link = links.to(calls.get(i).slot(), true);
            if (link.isDone() && !link.isCompletedExceptionally()) {
                parts.computeIfAbsent(link.join(), key -> new ArrayList<>()).add(i);
            } else {
                // The connection is still being made: this is the first call after the start or after a lost
                // connection.
                replies[i] = kept(sent(calls.get(i), true), calls.get(i));
            }
        }
        parts.forEach((link, part) -> {
            List<ServerCall> together = part.stream().map(calls::get).toList();
            List<CompletableFuture<Object>> answers = link.send(together, Link.Form.DIGEST);
            for (int i = 0; i < part.size(); i++) {
                ServerCall call = together.get(i);
                replies[part.get(i)] = kept(repaired(answers.get(i), link, call, true, 0), call);
            }
        });
        return CompletableFuture.allOf(replies).thenApply(done -> {
            List<@Nullable Object> all = new ArrayList<>(
                    Arrays.stream(replies).map(CompletableFuture::join).toList());
            return Replies.read(() -> reader.apply(all));
        });
    }

    private CompletableFuture<Object> sent(ServerCall call, boolean renewals) {
        CompletableFuture<Link> link;
        try {
            link = links.to(call.slot(), renewals);
        } catch (RuntimeException unknown) {
            return CompletableFuture.failedFuture(unreachable(unknown));
        }
        return reached(link)
                .thenCompose(open ->
                        repaired(open.send(List.of(call), Link.Form.DIGEST).get(0), open, call, renewals, 0));
    }

    private CompletableFuture<Link> reached(CompletableFuture<Link> link) {
        return link.handle((open, failure) -> {
            if (failure != null) {
                links.suspect();
                throw unreachable(cause(failure));
            }
            return open;
        });
    }

    /** Translates the failure to make a connection. */
    StoreException unreachable(Throwable failure) {
        return ConnectFailure.meaning(failure, endpoint);
    }

    /** Sends again with the text of the script, or to the node of a redirection, until there is an answer. */
    private CompletableFuture<Object> repaired(
            CompletableFuture<Object> reply, Link link, ServerCall call, boolean renewals, int redirections) {
        return reply.exceptionallyCompose(failure -> {
            Throwable cause = cause(failure);
            if (cause instanceof RedisNoScriptException) {
                return repaired(link.send(List.of(call), Link.Form.TEXT).get(0), link, call, renewals, redirections);
            }
            if (cause instanceof RedisCommandExecutionException
                    && call.isNotKnown(String.valueOf(cause.getMessage()))) {
                return CompletableFuture.completedFuture(ServerCall.NotKnown.NOT_KNOWN);
            }
            Matcher elsewhere = REDIRECTION.matcher(String.valueOf(cause.getMessage()));
            if (!links.isCluster() || !(cause instanceof RedisCommandExecutionException) || !elsewhere.matches()) {
                return CompletableFuture.failedFuture(cause);
            }
            if (redirections >= MAX_REDIRECTIONS) {
                return CompletableFuture.failedFuture(disagreement(cause));
            }
            Link.Form form = elsewhere.group(1).equals("ASK") ? Link.Form.ASKING : Link.Form.DIGEST;
            if (form == Link.Form.DIGEST) {
                links.suspect();
            }
            @Nullable String host = Replies.host(elsewhere.group(2), link.host());
            return reached(links.to(host, Integer.parseInt(elsewhere.group(3)), renewals))
                    .thenCompose(other ->
                            repaired(other.send(List.of(call), form).get(0), other, call, renewals, redirections + 1));
        });
    }

    private static StoreException disagreement(Throwable last) {
        return StoreException.unavailable(
                Effect.NONE,
                "The nodes of the cluster do not agree on who serves a slot (" + last.getMessage() + ")",
                last);
    }

    private static Throwable cause(Throwable failure) {
        Throwable cause = failure.getCause();
        return failure instanceof CompletionException && cause != null ? cause : failure;
    }

    private CompletableFuture<Object> finished(CompletableFuture<Object> reply, ServerCall call) {
        return reply.exceptionallyCompose(failure -> CompletableFuture.failedFuture(meaning(cause(failure), call)));
    }

    /** Returns a stage that yields the reply, or the failure as a value instead of the reply. */
    private CompletableFuture<Object> kept(CompletableFuture<Object> reply, ServerCall call) {
        return reply.exceptionally(failure -> meaning(cause(failure), call));
    }

    private StoreException meaning(Throwable failure, ServerCall call) {
        if (failure instanceof StoreException known) {
            return known;
        }
        if (failure instanceof RedisCommandExecutionException) {
            StoreException refusal = ServerError.of(String.valueOf(failure.getMessage()), call.subject(), failure);
            if (!ServerError.isDivided(refusal)) {
                links.suspect();
            }
            if (ServerError.isOfReplica(String.valueOf(failure.getMessage()))) {
                subscriptions.replace();
            }
            return refusal;
        }
        links.suspect();
        return StoreException.unavailable(
                Effect.UNKNOWN,
                endpoint + " has not answered (" + failure + "), so the request may have been done or not",
                failure);
    }

    @Override
    public CompletionStage<Void> subscribe(String channel, Subscriber subscriber) {
        return subscribed(channel, subscriber, 0);
    }

    private CompletableFuture<Void> subscribed(String channel, Subscriber subscriber, int redirections) {
        return subscriptions.add(channel, subscriber).exceptionallyCompose(failure -> {
            if (links.isCluster() && isMoved(cause(failure))) {
                return redirections < MAX_REDIRECTIONS
                        ? links.refreshed()
                                .handle((done, unknown) -> subscribed(channel, subscriber, redirections + 1))
                                .thenCompose(again -> again)
                        : CompletableFuture.failedFuture(disagreement(cause(failure)));
            }
            StoreException why = cause(failure) instanceof RedisCommandExecutionException refused
                    ? ServerError.of(String.valueOf(refused.getMessage()), "the channel of this client", refused)
                    : unreachable(cause(failure));
            return CompletableFuture.failedFuture(
                    why.retryable()
                            ? StoreException.unavailable(Effect.NONE, "Cannot subscribe: " + why.getMessage(), why)
                            : StoreException.refused("Cannot subscribe: " + why.getMessage(), why));
        });
    }

    private static boolean isMoved(Throwable failure) {
        return failure instanceof RedisCommandExecutionException
                && String.valueOf(failure.getMessage()).startsWith("MOVED ");
    }

    @Override
    public void resubscribe(String channel) {
        subscriptions.resubscribe(channel);
    }

    @Override
    public void unsubscribe(String channel) {
        subscriptions.remove(channel);
    }

    @Override
    public Duration callTimeout() {
        return callTimeout;
    }

    @Override
    public void close() {
        if (endOfClient == null) {
            links.close();
        } else {
            // So that new calls are refused here, and not by a client that is shutting down.
            links.refuse();
            endOfClient.run();
        }
    }

    @Override
    public String toString() {
        return endpoint;
    }
}
