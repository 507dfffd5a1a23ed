package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort.Subscriber;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.DaemonThreads;
import dev.holdfast.store.ServerAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
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
    private final ThreadFactory threads;
    private final Deque<Channel> unassigned = new ArrayDeque<>();
    private @Nullable Thread searching;
    private boolean closed;

    ClusterChannels(Function<ServerAddress, Subscription> subscriptions, SlotTable slots, MonotonicClock clock) {
        this(subscriptions, slots, clock, Thread::new);
    }

    /** @param threads makes the thread that looks for nodes */
    ClusterChannels(
            Function<ServerAddress, Subscription> subscriptions,
            SlotTable slots,
            MonotonicClock clock,
            ThreadFactory threads) {
        this.threads = threads;
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
        check();
        subscription.awaitConfirmation(channel, "the cluster");
    }

    private Subscription assign(Channel channel) {
        Subscription subscription = subscriptions.apply(slots.ownerOf(HashSlot.of(channel.bytes())));
        assigned.put(channel.name(), subscription);
        try {
            subscription.add(channel);
        } catch (RuntimeException | Error left) {
            // Mostly the node has just left the cluster. Another one is looked for with the next attempt.
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
        } finally {
            mutex.unlock();
        }
        check();
    }

    /** Starts the thread if it is needed, and could not be started before; does not wait. */
    void check() {
        mutex.lock();
        try {
            if (searching == null && !closed && !unassigned.isEmpty()) {
                searching = DaemonThreads.start(threads, this::search, "holdfast-redis-channels");
            }
        } finally {
            mutex.unlock();
        }
    }

    // The pause grows during the whole search, so that nodes that refuse at once are not asked in a tight loop.
    private void search() {
        long pause = Subscription.FIRST_PAUSE_NANOS;
        for (int count = unassigned(); count > 0; count = unassigned()) {
            clock.parkNanos(this, pause);
            pause = Math.min(2 * pause, Subscription.LONGEST_PAUSE_NANOS);
            for (int i = 0; i < count; i++) {
                assignNext();
            }
        }
    }

    // Returns how many channels have no node; if none has, the thread ends.
    private int unassigned() {
        mutex.lock();
        try {
            int count = closed ? 0 : unassigned.size();
            if (count == 0) {
                searching = null;
            }
            return count;
        } finally {
            mutex.unlock();
        }
    }

    // Whatever is thrown, the channel keeps its place in the search, which goes on.
    private void assignNext() {
        Channel channel = next();
        try {
            if (channels.get(channel.name()) == channel) {
                assign(channel);
            }
        } catch (StoreException notYet) {
            again(channel);
            channel.failed(notYet);
        } catch (RuntimeException | Error noMemory) {
            again(channel);
        }
    }

    // Only the thread of the search takes channels out.
    private Channel next() {
        mutex.lock();
        try {
            return unassigned.remove();
        } finally {
            mutex.unlock();
        }
    }

    private void again(Channel channel) {
        slots.suspect();
        mutex.lock();
        try {
            unassigned.add(channel);
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
