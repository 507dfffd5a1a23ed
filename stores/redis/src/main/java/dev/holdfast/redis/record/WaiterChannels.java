package dev.holdfast.redis.record;

import dev.holdfast.redis.client.RedisPort;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * The channels of a store: one, or on a cluster one for each slot in which it waits. A slot's channel is
 * unsubscribed when no claim has waited there for a while, and gets a new name when it is needed again.
 * Thread-safe.
 */
public final class WaiterChannels implements AutoCloseable {

    /** The shortest time for which an unused channel of a slot is kept. The longest time is twice this. */
    static final long IDLE_SECONDS = 30;

    /** Stands for the channel of a client that is not subscribed to any. */
    static final String NONE = "-";

    private final RedisPort port;
    private final LockKeys keys;
    private final IntFunction<RedisPort.Subscriber> subscribers;
    private final Supplier<Set<Integer>> slotsInUse;
    private final Executor delayed;
    /** The channel of a store without a cluster, as soon as it was needed. */
    private volatile String onlyName = NONE;

    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<Integer, WaiterChannel> bySlot = new HashMap<>();
    private volatile boolean onlyChannelConfirmed;
    private boolean sweeping;
    private boolean closed;

    /** A channel, and whether the server has confirmed it. */
    private static final class WaiterChannel {

        private final String name;
        private volatile boolean confirmed;
        private boolean idle;

        private WaiterChannel(String name) {
            this.name = name;
        }
    }

    /**
     * @param subscribers makes the subscriber for the channel of a slot
     * @param slotsInUse returns the slots in which claims wait at this moment
     */
    public WaiterChannels(
            RedisPort port,
            LockKeys keys,
            IntFunction<RedisPort.Subscriber> subscribers,
            Supplier<Set<Integer>> slotsInUse) {
        this(port, keys, subscribers, slotsInUse, CompletableFuture.delayedExecutor(IDLE_SECONDS, TimeUnit.SECONDS));
    }

    /** @param delayed runs a sweep after {@link #IDLE_SECONDS} */
    public WaiterChannels(
            RedisPort port,
            LockKeys keys,
            IntFunction<RedisPort.Subscriber> subscribers,
            Supplier<Set<Integer>> slotsInUse,
            Executor delayed) {
        this.port = port;
        this.keys = keys;
        this.subscribers = subscribers;
        this.slotsInUse = slotsInUse;
        this.delayed = delayed;
    }

    /** The channel that calls about a slot name as the caller's channel; {@link #NONE} if no claim waits there. */
    public String name(int slot) {
        if (!port.isCluster()) {
            return onlyName;
        }
        mutex.lock();
        try {
            WaiterChannel channel = bySlot.get(slot);
            return channel == null ? NONE : channel.name;
        } finally {
            mutex.unlock();
        }
    }

    /**
     * Subscribes to the channel of a slot, unless it is subscribed. The claim that is about to wait there must
     * already be registered, so that a sweep does not end the subscription.
     */
    public CompletionStage<Void> subscribe(int slot) {
        WaiterChannel channel;
        mutex.lock();
        try {
            channel = bySlot.computeIfAbsent(
                    slot, number -> new WaiterChannel(port.isCluster() ? keys.newChannel(number) : keys.newChannel()));
            onlyName = channel.name;
            channel.idle = false;
            sweepLater();
        } finally {
            mutex.unlock();
        }
        if (channel.confirmed) {
            return CompletableFuture.completedStage(null);
        }
        return port.subscribe(channel.name, subscribers.apply(slot)).thenRun(() -> {
            channel.confirmed = true;
            onlyChannelConfirmed = true;
        });
    }

    /** Whether the server has confirmed the channel of a slot, so that {@link #subscribe} need not wait for it. */
    public boolean isSubscribed(int slot) {
        if (!port.isCluster()) {
            return onlyChannelConfirmed;
        }
        mutex.lock();
        try {
            WaiterChannel channel = bySlot.get(slot);
            if (channel != null) {
                channel.idle = false;
            }
            return channel != null && channel.confirmed;
        } finally {
            mutex.unlock();
        }
    }

    /** Subscribes anew to the channel of a slot, because the server knows no subscriber of it. */
    void resubscribe(int slot) {
        WaiterChannel channel;
        mutex.lock();
        try {
            channel = bySlot.get(slot);
        } finally {
            mutex.unlock();
        }
        if (channel != null && channel.confirmed) {
            port.resubscribe(channel.name);
        }
    }

    private void sweepLater() {
        if (port.isCluster() && !sweeping && !closed) {
            delayed.execute(this::sweep);
            sweeping = true;
        }
    }

    // A channel is unsubscribed when two sweeps in a row find it unused; the first one marks it.
    private void sweep() {
        mutex.lock();
        try {
            sweeping = false;
            Set<Integer> used = slotsInUse.get();
            for (Iterator<Map.Entry<Integer, WaiterChannel>> all =
                            bySlot.entrySet().iterator();
                    all.hasNext(); ) {
                Map.Entry<Integer, WaiterChannel> one = all.next();
                WaiterChannel channel = one.getValue();
                if (used.contains(one.getKey())) {
                    channel.idle = false;
                } else if (channel.idle) {
                    all.remove();
                    port.unsubscribe(channel.name);
                } else {
                    channel.idle = true;
                }
            }
            if (!bySlot.isEmpty()) {
                sweepLater();
            }
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public void close() {
        mutex.lock();
        try {
            closed = true;
            bySlot.clear();
        } finally {
            mutex.unlock();
        }
    }
}
