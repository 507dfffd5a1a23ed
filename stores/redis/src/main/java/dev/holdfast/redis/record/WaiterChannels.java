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
 * The channels of a store: one, or on a cluster one for each slot in which it waits. A slot's channel is given up when
 * nobody has waited there for a while, and has another name when it is needed again. Thread-safe.
 */
public final class WaiterChannels implements AutoCloseable {

    /** How long a slot's channel is kept without use, at least; at most twice this. */
    static final long IDLE_SECONDS = 30;

    private final RedisPort port;
    private final LockKeys keys;
    private final IntFunction<RedisPort.Subscriber> subscribers;
    private final Supplier<Set<Integer>> slotsInUse;
    private final Executor later;
    /** What a call says in a slot where nothing waits. */
    private final String nobody;

    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<Integer, Subscribed> bySlot = new HashMap<>();
    private volatile boolean onlyOneHeard;
    private boolean sweeping;
    private boolean closed;

    /** A channel, and whether the server has confirmed it. */
    private static final class Subscribed {

        private final String name;
        private volatile boolean confirmed;
        private boolean idle;

        private Subscribed(String name) {
            this.name = name;
        }
    }

    /**
     * @param subscribers make what hears the channel of a slot
     * @param slotsInUse in which slots claims wait at this moment
     */
    public WaiterChannels(
            RedisPort port,
            LockKeys keys,
            IntFunction<RedisPort.Subscriber> subscribers,
            Supplier<Set<Integer>> slotsInUse) {
        this(port, keys, subscribers, slotsInUse, CompletableFuture.delayedExecutor(IDLE_SECONDS, TimeUnit.SECONDS));
    }

    /** @param later runs a sweep after the time of idleness */
    public WaiterChannels(
            RedisPort port,
            LockKeys keys,
            IntFunction<RedisPort.Subscriber> subscribers,
            Supplier<Set<Integer>> slotsInUse,
            Executor later) {
        this.port = port;
        this.keys = keys;
        this.subscribers = subscribers;
        this.slotsInUse = slotsInUse;
        this.later = later;
        this.nobody = keys.newChannel();
    }

    /** The channel that calls about a slot name as theirs. */
    public String name(int slot) {
        if (!port.isCluster()) {
            return nobody;
        }
        mutex.lock();
        try {
            Subscribed channel = bySlot.get(slot);
            return channel == null ? nobody : channel.name;
        } finally {
            mutex.unlock();
        }
    }

    /** Sees to it that the channel of a slot is heard. The claim that is about to wait there is known already. */
    public CompletionStage<Void> heard(int slot) {
        Subscribed channel;
        mutex.lock();
        try {
            channel = bySlot.computeIfAbsent(
                    slot, number -> new Subscribed(port.isCluster() ? keys.newChannel(number) : nobody));
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
            onlyOneHeard = true;
        });
    }

    /** Whether {@link #heard} would have to wait for the server. */
    public boolean isHeard(int slot) {
        if (!port.isCluster()) {
            return onlyOneHeard;
        }
        mutex.lock();
        try {
            Subscribed channel = bySlot.get(slot);
            if (channel != null) {
                channel.idle = false;
            }
            return channel != null && channel.confirmed;
        } finally {
            mutex.unlock();
        }
    }

    private void sweepLater() {
        if (port.isCluster() && !sweeping && !closed) {
            sweeping = true;
            later.execute(this::sweep);
        }
    }

    // Twice found without use: once marks it.
    private void sweep() {
        mutex.lock();
        try {
            sweeping = false;
            Set<Integer> used = slotsInUse.get();
            for (Iterator<Map.Entry<Integer, Subscribed>> all =
                            bySlot.entrySet().iterator();
                    all.hasNext(); ) {
                Map.Entry<Integer, Subscribed> one = all.next();
                Subscribed channel = one.getValue();
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
