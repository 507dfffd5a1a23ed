package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.DividedCalls;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.client.ServerError;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.redis.jedis.Exchange.Redirection;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits.NodeRole;
import dev.holdfast.store.BlockingCalls;
import dev.holdfast.store.ServerAddress;
import dev.holdfast.store.TimeLimit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/**
 * The port on Jedis, for a cluster. It keeps the slot table itself, so that a call goes to the right node, a batch
 * goes to all nodes at once, and a subscription is made at the node that serves the slot.
 */
public final class JedisClusterPort implements RedisPort {

    /**
     * How many time-outs a call may take: one until it is repeated for the last time because its slot is being moved, one
     * for a thread to do that, one to ask for the slot table, the attempts that begin within two time-outs, and the last
     * attempt as long as on a single server.
     */
    private static final int WAITS = 12;

    /** How often a call follows a redirection to another node. */
    private static final int MAX_REDIRECTIONS = 5;

    /** After so many time-outs in which a silent node was not asked, it is taken for one that answers. */
    private static final int NOTED_TIMEOUTS = 5;

    /** How many nodes process their part of a batch at the same time; the other nodes follow. */
    private static final int NODES_AT_ONCE = 16;

    private final Function<ServerAddress, ConnectionSource> sources;
    private final MonotonicClock clock;
    private final Duration timeout;
    private final Duration callTimeout;
    private final String endpoint;
    private final SlotTable slots;
    private final Map<ServerAddress, JedisNode> nodes = new ConcurrentHashMap<>();
    private final Map<ServerAddress, ConnectionSource> open = new ConcurrentHashMap<>();
    /** Nodes that did not answer their part of the last batch in time, with the next one, for which nobody waits. */
    private final Map<ServerAddress, Unawaited> silent = new ConcurrentHashMap<>();

    private final AtomicBoolean refreshing = new AtomicBoolean();

    private final BlockingCalls workCalls;
    private final BlockingCalls renewalCalls;
    private final BlockingCalls nodeCalls;
    private final BlockingCalls repeatedCalls;
    private final DividedCalls dividedCalls;
    private final ClusterChannels channels;
    private volatile boolean closed;

    /**
     * @param seeds nodes that are asked for the other nodes
     * @param sources makes the connections to a node
     * @param endpoint the name of the cluster in messages
     */
    public JedisClusterPort(
            List<ServerAddress> seeds,
            Function<ServerAddress, ConnectionSource> sources,
            String endpoint,
            RedisOptions options,
            MonotonicClock clock) {
        this.sources = sources;
        this.clock = clock;
        this.timeout = options.timeout();
        this.callTimeout = options.callTimeout(WAITS);
        this.endpoint = endpoint;
        this.slots = new SlotTable(seeds, new ConnectionsOfNodes(), timeout, clock);
        TimeLimit turns = new TimeLimit(options.timeout());
        this.workCalls = new BlockingCalls("holdfast-redis-work", options.connections(), true, turns);
        this.renewalCalls = new BlockingCalls("holdfast-redis-renewal", 1, true, turns);
        this.nodeCalls = new BlockingCalls("holdfast-redis-node", NODES_AT_ONCE, false);
        // The thread that repeats a call belongs to all, so the call itself is never made on it.
        this.repeatedCalls = new BlockingCalls("holdfast-redis-repeat", options.connections(), false, turns);
        this.dividedCalls = new DividedCalls(timeout, clock);
        this.channels = new ClusterChannels(this::subscriptionOf, slots, clock);
    }

    private final class ConnectionsOfNodes implements SlotTable.NodeConnections {

        @Override
        public Connection open(ServerAddress node) {
            node(node);
            return sourceOf(node).open();
        }

        @Override
        public void ended(ServerAddress node, Connection connection) {
            sourceOf(node).discard(connection);
        }
    }

    private ConnectionSource sourceOf(ServerAddress address) {
        return open.computeIfAbsent(address, sources);
    }

    private JedisNode node(ServerAddress address) {
        JedisNode node = nodes.computeIfAbsent(address, key -> new JedisNode(sourceOf(key), clock, new Moves(key)));
        if (closed) {
            node.close();
            throw StoreException.unavailable(Effect.NONE, "The store on " + endpoint + " is closed", null);
        }
        return node;
    }

    /** What the subscription of a node reports. */
    private final class Moves implements Subscription.Displaced {

        private final ServerAddress node;

        private Moves(ServerAddress node) {
            this.node = node;
        }

        @Override
        public void displaced(List<Channel> lost) {
            channels.displaced(lost);
        }

        @Override
        public void moved(int slot, Redirection owner) {
            ServerAddress target = owner.target(node);
            if (target == null) {
                slots.suspect();
            } else {
                slots.moved(slot, target);
            }
        }
    }

    private Subscription subscriptionOf(ServerAddress address) {
        return node(address).subscription();
    }

    @Override
    public CompletionStage<List<Integer>> slots() {
        return workCalls.call(slots::oneOfEach);
    }

    // Each slot fails over on its own, so that there is no one incarnation of a cluster.
    @Override
    public NodeRole nodeRole() {
        return NodeRole.NONE;
    }

    @Override
    public boolean isCluster() {
        return true;
    }

    @Override
    public <T> CompletionStage<T> run(ServerCall call, Function<Object, T> reader) {
        Supplier<T> work = () -> Replies.read(() -> reader.apply(routed(call)));
        return dividedCalls.call(() -> workCalls.call(work), () -> repeatedCalls.call(work));
    }

    // The number of redirections is limited. If a node is gone, the call is tried once more, if another node serves
    // the slot by then.
    private @Nullable Object routed(ServerCall call) {
        long deadline = clock.nanoTime() + 2 * timeout.toNanos();
        ServerAddress address = slots.ownerOf(call.slot());
        boolean asking = false;
        for (int i = 0; ; i++) {
            try {
                Object reply = node(address).run(call, asking);
                if (!(reply instanceof Redirection redirection)) {
                    slots.answered(address);
                    return reply;
                }
                if (i >= MAX_REDIRECTIONS || clock.nanoTime() - deadline > 0) {
                    throw tooManyRedirections(call);
                }
                address = target(call, redirection, address);
                asking = follow(call, redirection, address);
            } catch (StoreException failure) {
                ServerAddress owner = newOwner(call, address, failure);
                if (i > 0 || owner == null || clock.nanoTime() - deadline > 0) {
                    throw failure;
                }
                address = owner;
                asking = false;
            }
        }
    }

    private ServerAddress target(ServerCall call, Redirection redirection, ServerAddress asked) {
        ServerAddress target = redirection.target(asked);
        return target != null
                ? target
                : slots.withoutHost(call.slot(), redirection.named().getPort(), redirection.once());
    }

    // Returns whether ASKING must be sent first, because the slot is being moved to the node.
    private boolean follow(ServerCall call, Redirection redirection, ServerAddress target) {
        if (!redirection.once()) {
            slots.moved(call.slot(), target);
            channels.moved(call.slot(), target);
        }
        return redirection.once();
    }

    /**
     * The node that serves the slot after a failure that had no effect; null if it is the same node, if the failure may
     * have had an effect, or if no node can serve the call yet.
     */
    private @Nullable ServerAddress newOwner(ServerCall call, ServerAddress failed, StoreException failure) {
        if (!failure.retryable() || ServerError.isDivided(failure)) {
            return null;
        }
        slots.suspect(failed);
        if (failure.effect() != Effect.NONE || closed) {
            return null;
        }
        ServerAddress owner = slots.ownerOf(call.slot());
        return owner.equals(failed) ? null : owner;
    }

    private static StoreException tooManyRedirections(ServerCall call) {
        return StoreException.unavailable(
                Effect.NONE,
                "The nodes of the cluster do not agree on who serves slot " + call.slot() + " (\"" + call.subject()
                        + "\")",
                null);
    }

    @Override
    public <T> CompletionStage<T> runAll(List<ServerCall> calls, Function<List<Object>, T> reader) {
        return renewalCalls.call(() -> Replies.read(() -> {
            nodes.values().forEach(node -> node.subscription().check());
            channels.check();
            List<Object> replies = scattered(calls);
            refreshIfSuspect();
            leaveFormerNodes();
            return reader.apply(replies);
        }));
    }

    // In the background, so that a batch does not wait for nodes that may not answer, and one at a time: each keeps a
    // thread, which the nodes that answer need. If it cannot begin, for want of memory, the next batch tries it again.
    private void refreshIfSuspect() {
        if (slots.isSuspect() && refreshing.compareAndSet(false, true)) {
            boolean begun = false;
            try {
                nodeCalls.call(this::refreshed).whenComplete((done, failure) -> refreshing.set(false));
                begun = true;
            } finally {
                if (!begun) {
                    refreshing.set(false);
                }
            }
        }
    }

    private boolean refreshed() {
        slots.refresh();
        return true;
    }

    // A node that serves no slot any more, because it is a replica now or has left the cluster, is closed when
    // its channels have moved. Its connections are forgotten before the node is, so that a new node at the same
    // address does not get them.
    private void leaveFormerNodes() {
        Set<ServerAddress> serving = slots.serving();
        if (serving.isEmpty()) {
            return;
        }
        nodes.forEach((address, node) -> {
            if (serving.contains(address)) {
                return;
            }
            if (!node.subscription().closeIfIdle()) {
                node.subscription().replace();
            } else {
                open.remove(address);
                silent.remove(address);
                nodes.remove(address, node);
                node.close();
            }
        });
    }

    // Sends to each node its part, to all at once. A node that did not answer the last time is asked without waiting,
    // since the leases of what the other nodes have may be short.
    private List<@Nullable Object> scattered(List<ServerCall> calls) {
        @Nullable Object[] replies = new Object[calls.size()];
        List<Part> parts = parts(calls, replies);
        List<CompletableFuture<List<@Nullable Object>>> others =
                parts.stream().skip(1).map(this::onAnotherThread).toList();
        for (int i = 0; i < parts.size(); i++) {
            Part part = parts.get(i);
            List<@Nullable Object> answers = i == 0 ? oneNode(part) : answer(part, others.get(i - 1));
            for (int j = 0; j < answers.size(); j++) {
                replies[part.indices().get(j)] = answers.get(j);
            }
        }
        return Arrays.asList(replies);
    }

    /** What was sent to a node that may not answer, and when. */
    private record Unawaited(CompletableFuture<?> answer, long since) {}

    /** The calls to one node, and their indices in the batch. */
    private record Part(ServerAddress node, List<Integer> indices, List<ServerCall> calls) {

        private List<@Nullable Object> failed(StoreException failure) {
            return new ArrayList<>(Collections.nCopies(calls.size(), failure));
        }
    }

    // The calls to silent nodes are sent here, and are no part of the result.
    private List<Part> parts(List<ServerCall> calls, @Nullable Object[] replies) {
        Map<ServerAddress, Part> parts = new LinkedHashMap<>();
        for (int i = 0; i < calls.size(); i++) {
            try {
                ServerAddress owner = slots.lastOwnerOf(calls.get(i).slot());
                Part part = parts.computeIfAbsent(owner, key -> new Part(key, new ArrayList<>(), new ArrayList<>()));
                part.indices().add(i);
                part.calls().add(calls.get(i));
            } catch (StoreException nowhere) {
                replies[i] = nowhere;
            }
        }
        List<Part> answering = new ArrayList<>();
        for (Part part : parts.values()) {
            Unawaited before = silent.get(part.node());
            if (before == null || isLongAgo(before)) {
                answering.add(part);
            } else {
                StoreException failure = askedWithoutWaiting(part, before);
                part.indices().forEach(i -> replies[i] = failure);
            }
        }
        return answering;
    }

    // A node from which nothing was wanted for a while may be well by now.
    private boolean isLongAgo(Unawaited before) {
        return before.answer().isDone() && clock.nanoTime() - before.since() > NOTED_TIMEOUTS * timeout.toNanos();
    }

    private StoreException askedWithoutWaiting(Part part, Unawaited before) {
        if (!before.answer().isDone()) {
            return StoreException.unavailable(
                    Effect.NONE, "Not sent: " + part.node() + " has not answered the request before", null);
        }
        silent.replace(part.node(), before, new Unawaited(onAnotherThread(part), clock.nanoTime()));
        return StoreException.unavailable(
                Effect.UNKNOWN,
                part.node() + " has not answered the last time, so nobody has waited for its answer now",
                null);
    }

    private CompletableFuture<List<@Nullable Object>> onAnotherThread(Part part) {
        return nodeCalls.call(() -> oneNode(part)).toCompletableFuture();
    }

    private List<@Nullable Object> answer(Part part, CompletableFuture<List<@Nullable Object>> answer) {
        try {
            return answer.join();
        } catch (CompletionException failure) {
            slots.suspect();
            return part.failed(StoreException.of(failure));
        }
    }

    private List<@Nullable Object> oneNode(Part part) {
        long start = clock.nanoTime();
        List<@Nullable Object> answers;
        try {
            answers = node(part.node()).runAll(part.calls());
        } catch (StoreException failure) {
            slots.suspect(part.node());
            answers = part.failed(failure);
        }
        noteWhetherItAnswers(part.node(), start, answers.get(answers.size() - 1));
        long deadline = clock.nanoTime() + 2 * timeout.toNanos();
        for (int i = 0; i < answers.size(); i++) {
            Object answer = answers.get(i);
            if (answer instanceof Redirection redirection) {
                answers.set(i, followed(part.calls().get(i), part.node(), redirection, deadline));
            } else if (answer instanceof StoreException failure && failure.retryable()) {
                slots.suspect(part.node());
            } else if (!(answer instanceof StoreException)) {
                slots.answered(part.node());
            }
        }
        return answers;
    }

    private void noteWhetherItAnswers(ServerAddress node, long start, @Nullable Object last) {
        long now = clock.nanoTime();
        if (last instanceof StoreException && now - start >= timeout.toNanos() && nodes.containsKey(node)) {
            silent.putIfAbsent(node, new Unawaited(CompletableFuture.completedFuture(null), now));
        } else {
            silent.remove(node);
        }
    }

    private @Nullable Object followed(ServerCall call, ServerAddress asked, Redirection first, long deadline) {
        ServerAddress address = asked;
        Object answer = first;
        try {
            for (int i = 0; answer instanceof Redirection redirection; i++) {
                if (i >= MAX_REDIRECTIONS || clock.nanoTime() - deadline > 0) {
                    return tooManyRedirections(call);
                }
                address = target(call, redirection, address);
                boolean asking = follow(call, redirection, address);
                answer = node(address).runReserved(call, asking);
            }
            return answer;
        } catch (StoreException failure) {
            slots.suspect();
            return failure;
        }
    }

    @Override
    public CompletionStage<Void> subscribe(String channel, Subscriber subscriber) {
        return workCalls.call(() -> {
            channels.subscribe(channel, subscriber);
            return null;
        });
    }

    @Override
    public void resubscribe(String channel) {
        channels.resubscribe(channel);
    }

    @Override
    public void unsubscribe(String channel) {
        channels.unsubscribe(channel);
    }

    @Override
    public Duration callTimeout() {
        return callTimeout;
    }

    @Override
    public void close() {
        closed = true;
        workCalls.close();
        renewalCalls.close();
        nodeCalls.close();
        repeatedCalls.close();
        channels.close();
        nodes.values().forEach(JedisNode::close);
    }

    @Override
    public String toString() {
        return endpoint;
    }
}
