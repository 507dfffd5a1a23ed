package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort.Subscriber;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.ServerAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The channels of a client on a cluster. Each is subscribed at the node that serves its slot. When that node loses
 * the slot, or fails, a thread looks for the slot's new node until there is one. The thread ends when every channel
 * has a node.
 */
final class ClusterChannels implements AutoCloseable {

    private final Function<ServerAddress, Subscription> subscriptions;
    private final SlotTable slots;
    private final MonotonicClock clock;
    private final Map<String, Channel> channels = new ConcurrentHashMap<>();
    private final Map<String, Subscription> assigned = new ConcurrentHashMap<>();
    private final ReentrantLock mutex = new ReentrantLock();
    private List<Channel> unassigned = new ArrayList<>();
    private @Nullable Thread searching;
    private boolean closed;

    ClusterChannels(Function<ServerAddress, Subscription> subscriptions, SlotTable slots, MonotonicClock clock) {
        this.subscriptions = subscriptions;
        this.slots = slots;
        this.clock = clock;
    }

    void subscribe(String name, Subscriber subscriber) {
        Channel channel = channels.computeIfAbsent(name, key -> new Channel(key, subscriber, clock));
        Subscription subscription = assigned.get(name);
        if (subscription == null) {
            subscription = assign(channel);
        }
        channel.awaitConfirmation(subscription.patience(), "the cluster");
    }

    private Subscription assign(Channel channel) {
        Subscription subscription = subscriptions.apply(slots.ownerOf(HashSlot.of(channel.bytes())));
        assigned.put(channel.name(), subscription);
        try {
            subscription.add(channel);
        } catch (StoreException left) {
            // The node has just left the cluster, so another one is looked for with the next attempt.
            assigned.remove(channel.name(), subscription);
            throw left;
        }
        if (!channels.containsKey(channel.name())) {
            subscription.remove(channel.name());
            assigned.remove(channel.name());
        }
        return subscription;
    }

    /** A slot has moved to this node: its channels leave the node at which they are subscribed. */
    void moved(int slot, ServerAddress owner) {
        assigned.forEach((name, subscription) -> {
            if (HashSlot.of(name.getBytes(StandardCharsets.UTF_8)) == slot
                    && subscription != subscriptions.apply(owner)) {
                subscription.replace(name);
            }
        });
    }

    /** Ends the connection of a channel, so that its node is looked for again. */
    void resubscribe(String name) {
        Subscription subscription = assigned.get(name);
        if (subscription != null) {
            slots.suspect();
            subscription.replace(name);
        }
    }

    void unsubscribe(String name) {
        channels.remove(name);
        Subscription subscription = assigned.remove(name);
        if (subscription != null) {
            subscription.remove(name);
        }
    }

    /** Takes over channels that no node serves at the moment. */
    void displaced(List<Channel> lost) {
        slots.suspect();
        mutex.lock();
        try {
            unassigned.addAll(lost);
            if (searching == null && !closed) {
                Thread searcher = new Thread(this::search, "holdfast-redis-channels");
                searcher.setDaemon(true);
                searching = searcher;
                searcher.start();
            }
        } finally {
            mutex.unlock();
        }
    }

    // The pause grows during the whole search, so that nodes that refuse at once are not asked in a tight loop.
    private void search() {
        long pause = Subscription.FIRST_PAUSE_NANOS;
        for (List<Channel> lost = next(); !lost.isEmpty(); lost = next()) {
            clock.parkNanos(this, pause);
            pause = Math.min(2 * pause, Subscription.LONGEST_PAUSE_NANOS);
            List<Channel> again = new ArrayList<>();
            for (Channel channel : lost) {
                try {
                    if (channels.get(channel.name()) == channel) {
                        assign(channel);
                    }
                } catch (StoreException notYet) {
                    slots.suspect();
                    channel.failed(notYet);
                    again.add(channel);
                }
            }
            if (!again.isEmpty()) {
                displaced(again);
            }
        }
    }

    private List<Channel> next() {
        mutex.lock();
        try {
            List<Channel> next = closed ? List.of() : unassigned;
            unassigned = new ArrayList<>();
            if (next.isEmpty()) {
                searching = null;
            }
            return next;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public void close() {
        Thread searcher;
        mutex.lock();
        try {
            closed = true;
            searcher = searching;
        } finally {
            mutex.unlock();
        }
        LockSupport.unpark(searcher);
    }
}
