package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.client.ServerError;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.BlockingCalls;
import dev.holdfast.store.ServerAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/** Which node serves which slot, according to the nodes. Thread-safe. */
final class SlotTable {

    /** The shortest time between two requests for the table. Otherwise each failed call would ask for it. */
    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final byte[] SLOTS = "SLOTS".getBytes(StandardCharsets.US_ASCII);

    /** Opens connections to nodes; {@link #ended} closes them. */
    interface NodeConnections {

        Connection open(ServerAddress node);

        void ended(ServerAddress node, Connection connection);
    }

    private final List<ServerAddress> seeds;
    private final NodeConnections connections;
    private final Duration timeout;
    private final MonotonicClock clock;
    private final ReentrantLock asking = new ReentrantLock();
    private final AtomicReferenceArray<@Nullable ServerAddress> owners = new AtomicReferenceArray<>(HashSlot.COUNT);
    private volatile boolean stale = true;
    private volatile Set<ServerAddress> known = Set.of();
    private volatile Set<ServerAddress> serving = Set.of();
    /** The node that is asked first. */
    private volatile @Nullable ServerAddress best;

    /**
     * Nodes that have not answered the last call. They are asked last: a silent one would hold up the calls to all
     * others, and one that is cut off from the others still names itself when another one is the primary.
     */
    private final Set<ServerAddress> failing = ConcurrentHashMap.newKeySet();

    /** Whether another node is asked first: the best one may be cut off together with one that fails. */
    private volatile boolean bestIsSuspect;

    private boolean wasAsked;
    private long askedAt;

    /** @param seeds are asked as long as no other nodes are known, or none of the known nodes answers */
    SlotTable(List<ServerAddress> seeds, NodeConnections connections, Duration timeout, MonotonicClock clock) {
        this.seeds = seeds;
        this.connections = connections;
        this.timeout = timeout;
        this.clock = clock;
    }

    /** @throws StoreException with effect NONE if no node is known to serve the slot */
    ServerAddress ownerOf(int slot) {
        if (stale || owners.get(slot) == null) {
            refresh();
        }
        ServerAddress owner = owners.get(slot);
        if (owner == null) {
            throw StoreException.unavailable(
                    Effect.NONE, "No node of the cluster serves slot " + slot + "; see CLUSTER INFO", null);
        }
        return owner;
    }

    /**
     * The node that served the slot when the nodes were last asked. Asks them only if none is known, so that a node
     * which does not answer holds nobody up.
     *
     * @throws StoreException with effect NONE if no node is known to serve the slot
     */
    ServerAddress lastOwnerOf(int slot) {
        ServerAddress owner = owners.get(slot);
        return owner != null ? owner : ownerOf(slot);
    }

    /** Whether the table may be outdated. */
    boolean isSuspect() {
        return stale;
    }

    /** A slot of each primary. */
    List<Integer> oneOfEach() {
        if (stale) {
            refresh();
        }
        Map<ServerAddress, Integer> first = new LinkedHashMap<>();
        for (int slot = 0; slot < HashSlot.COUNT; slot++) {
            ServerAddress owner = owners.get(slot);
            if (owner != null) {
                first.putIfAbsent(owner, slot);
            }
        }
        return List.copyOf(first.values());
    }

    /** Notes that a node has reported a new owner of a slot. The others may not know of it yet. */
    void moved(int slot, ServerAddress owner) {
        owners.set(slot, owner);
        best = owner;
        bestIsSuspect = false;
        stale = true;
    }

    /**
     * The node to which another one has led without naming the host.
     *
     * @param port the other node's port
     * @param once whether the slot is still being moved to it, so that no table names it as the owner
     * @throws StoreException with effect NONE if the table does not show which node it is
     */
    ServerAddress withoutHost(int slot, int port, boolean once) {
        List<ServerAddress> others =
                known.stream().filter(node -> node.port() == port).toList();
        if (others.size() == 1) {
            return others.get(0);
        }
        if (!once) {
            stale = true;
            ServerAddress owner = ownerOf(slot);
            if (owner.port() == port) {
                return owner;
            }
        }
        throw StoreException.unavailable(
                Effect.NONE,
                "A node of the cluster leads to another one with port " + port + " for slot " + slot
                        + ", but does not know its host; set cluster-announce-hostname there",
                null);
    }

    /** The nodes that serve a slot; empty while the table may be outdated. */
    Set<ServerAddress> serving() {
        return stale ? Set.of() : serving;
    }

    /** Notes that the table may be outdated, so that the nodes are asked before the next call. */
    void suspect() {
        stale = true;
    }

    /** Notes that a call to a node has failed, perhaps because the table is outdated. */
    void suspect(ServerAddress failed) {
        failing.add(failed);
        bestIsSuspect = true;
        stale = true;
    }

    /** Notes that a node has answered a call. */
    void answered(ServerAddress node) {
        if (!failing.isEmpty()) {
            failing.remove(node);
        }
    }

    /** Asks one node after the other until one answers. Keeps the known table if none does. */
    void refresh() {
        if (!BlockingCalls.lockWithin(asking, timeout.toNanos(), clock)) {
            return;
        }
        try {
            long now = clock.nanoTime();
            if (wasAsked && now - askedAt < LEAST_PAUSE_NANOS) {
                return;
            }
            StoreException failure = null;
            for (ServerAddress node : candidates()) {
                if (clock.nanoTime() - now > 2 * timeout.toNanos()) {
                    break;
                }
                failure = askOne(node);
                if (failure == null) {
                    best = knowsForCertain(node);
                    stale = false;
                    break;
                }
            }
            wasAsked = true;
            askedAt = clock.nanoTime();
            if (failure != null && known.isEmpty()) {
                throw failure;
            }
        } finally {
            asking.unlock();
        }
    }

    // Primaries come first, since the answer of a replica alone is not enough.
    private Set<ServerAddress> candidates() {
        Set<ServerAddress> candidates = new LinkedHashSet<>();
        ServerAddress last = best;
        boolean another = bestIsSuspect;
        bestIsSuspect = false;
        if (last != null && !another) {
            candidates.add(last);
        }
        candidates.addAll(serving);
        candidates.addAll(known);
        candidates.addAll(seeds);
        if (last != null && another) {
            candidates.remove(last);
            candidates.add(last);
        }
        failing.retainAll(candidates);
        Set<ServerAddress> failingLast = new LinkedHashSet<>(candidates);
        failingLast.removeAll(failing);
        failingLast.addAll(candidates);
        return failingLast;
    }

    // A node without slots may have left the cluster and still answer with the table of then. If a node that serves
    // slots by that table answers, too, its table counts.
    private ServerAddress knowsForCertain(ServerAddress answered) {
        ServerAddress another = null;
        for (int slot = 0; slot < HashSlot.COUNT; slot++) {
            ServerAddress owner = owners.get(slot);
            if (answered.equals(owner)) {
                return answered;
            }
            another = another == null && owner != null && !failing.contains(owner) ? owner : another;
        }
        return another != null && askOne(another) == null ? another : answered;
    }

    private @Nullable StoreException askOne(ServerAddress node) {
        Connection connection;
        try {
            connection = connections.open(node);
        } catch (StoreException unreachable) {
            failing.add(node);
            return unreachable;
        }
        try {
            Object answer = connection.executeCommand(new CommandArguments(Protocol.Command.CLUSTER).add(SLOTS));
            List<?> ranges = Replies.list(answer);
            if (ranges.isEmpty()) {
                // It has left the cluster, or there are no slots yet. Another node may know more.
                return StoreException.unavailable(Effect.NONE, node + " knows of no node that serves a slot", null);
            }
            take(node, ranges);
            return null;
        } catch (JedisDataException refused) {
            return ServerError.of(String.valueOf(refused.getMessage()), node, refused);
        } catch (JedisException broken) {
            connection.setBroken();
            failing.add(node);
            return StoreException.unavailable(
                    Effect.NONE,
                    node + " has not returned its slot table (" + OwnConnections.innermost(broken) + ")",
                    broken);
        } finally {
            connections.ended(node, connection);
        }
    }

    private void take(ServerAddress asked, List<?> ranges) {
        Set<ServerAddress> nodes = new LinkedHashSet<>();
        Set<ServerAddress> primaries = new HashSet<>();
        List<@Nullable ServerAddress> found = new ArrayList<>(Collections.nCopies(HashSlot.COUNT, null));
        for (Object part : ranges) {
            List<?> range = Replies.list(part);
            for (int i = 2; i < range.size(); i++) {
                ServerAddress address = NodeEntry.address(range.get(i), asked);
                if (address == null) {
                    continue;
                }
                nodes.add(address);
                if (i == 2) {
                    primaries.add(address);
                    for (int slot = (int) Replies.number(range, 0); slot <= Replies.number(range, 1); slot++) {
                        found.set(slot, address);
                    }
                }
            }
        }
        for (int slot = 0; slot < HashSlot.COUNT; slot++) {
            owners.set(slot, found.get(slot));
        }
        known = nodes;
        serving = primaries;
    }
}
