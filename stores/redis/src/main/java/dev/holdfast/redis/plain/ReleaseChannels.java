package dev.holdfast.redis.plain;

import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.store.BlockingCalls;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The channels on which releases are published, one for each lock, and those who watch them. A channel stays subscribed
 * for a while when nobody watches it any more, because who waits for a lock often does so again. Thread-safe; watchers
 * are not called while a mutex is held.
 *
 * <p>All of this is a hint: a waiter also tries again by itself. So a subscription that fails is no error; it is tried
 * again with the next watcher.
 */
final class ReleaseChannels implements AutoCloseable {

    /** The shortest time for which a channel that nobody watches is kept. The longest time is twice this. */
    static final long IDLE_SECONDS = 30;

    /** How many channels are being subscribed at once. A client may have to wait for the server's confirmation. */
    private static final int SUBSCRIBING_AT_ONCE = 8;

    private final RedisPort port;
    private final BlockingCalls calls = new BlockingCalls("holdfast-redis-watch", SUBSCRIBING_AT_ONCE, false);
    private final Executor delayed;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<String, ReleaseChannel> channels = new HashMap<>();
    private boolean sweeping;
    private boolean closed;

    ReleaseChannels(RedisPort port) {
        this(port, CompletableFuture.delayedExecutor(IDLE_SECONDS, TimeUnit.SECONDS));
    }

    /** @param delayed runs a sweep after {@link #IDLE_SECONDS} */
    ReleaseChannels(RedisPort port, Executor delayed) {
        this.port = port;
        this.delayed = delayed;
    }

    private enum State {
        WANTED,
        SUBSCRIBING,
        SUBSCRIBED
    }

    private final class Watcher implements ListenerRegistration {

        private final ReleaseChannel channel;
        private final Runnable mayBeFree;

        private Watcher(ReleaseChannel channel, Runnable mayBeFree) {
            this.channel = channel;
            this.mayBeFree = mayBeFree;
        }

        @Override
        public void close() {
            mutex.lock();
            try {
                channel.watchers.remove(this);
            } finally {
                mutex.unlock();
            }
        }
    }

    /** A channel. Its fields are guarded by the mutex. */
    private final class ReleaseChannel implements RedisPort.Subscriber {

        private final Set<Watcher> watchers = new HashSet<>();
        private State state = State.WANTED;
        private boolean idle;

        @Override
        public void message(String text) {
            callWatchers();
        }

        // What was published meanwhile was not received.
        @Override
        public void resubscribed() {
            callWatchers();
        }

        private void callWatchers() {
            List<Watcher> now;
            mutex.lock();
            try {
                now = closed ? List.of() : new ArrayList<>(watchers);
            } finally {
                mutex.unlock();
            }
            now.forEach(watcher -> watcher.mayBeFree.run());
        }

        // A release before the confirmation was not received.
        private void subscribed(boolean confirmed) {
            mutex.lock();
            try {
                state = confirmed ? State.SUBSCRIBED : State.WANTED;
            } finally {
                mutex.unlock();
            }
            if (confirmed) {
                callWatchers();
            }
        }
    }

    /** Watches a channel. Does not wait for the server; the watcher is also called when it has confirmed. */
    ListenerRegistration watch(String name, Runnable mayBeFree) {
        ReleaseChannel channel;
        Watcher watcher;
        boolean subscribes;
        mutex.lock();
        try {
            if (closed) {
                return ListenerRegistration.NONE;
            }
            sweepLater();
            channel = channels.computeIfAbsent(name, key -> new ReleaseChannel());
            watcher = new Watcher(channel, mayBeFree);
            channel.watchers.add(watcher);
            channel.idle = false;
            subscribes = channel.state == State.WANTED;
            if (subscribes) {
                channel.state = State.SUBSCRIBING;
            }
        } finally {
            mutex.unlock();
        }
        if (subscribes) {
            subscribe(name, channel);
        }
        return watcher;
    }

    private void subscribe(String name, ReleaseChannel channel) {
        CompletionStage<Void> confirmation;
        try {
            confirmation = calls.call(() -> port.subscribe(name, channel)).thenCompose(sent -> sent);
        } catch (OutOfMemoryError tooManyThreads) {
            confirmation = CompletableFuture.failedStage(tooManyThreads);
        }
        confirmation.whenComplete((done, failure) -> channel.subscribed(failure == null));
    }

    private void sweepLater() {
        if (!sweeping && !closed) {
            delayed.execute(this::sweep);
            sweeping = true;
        }
    }

    // A channel is unsubscribed when two sweeps in a row find it unused; the first one marks it. Under the
    // mutex, so that nobody subscribes to the same channel meanwhile.
    private void sweep() {
        mutex.lock();
        try {
            sweeping = false;
            for (Iterator<Map.Entry<String, ReleaseChannel>> all =
                            channels.entrySet().iterator();
                    all.hasNext(); ) {
                Map.Entry<String, ReleaseChannel> one = all.next();
                ReleaseChannel channel = one.getValue();
                if (!channel.watchers.isEmpty() || channel.state == State.SUBSCRIBING) {
                    channel.idle = false;
                } else if (channel.idle) {
                    all.remove();
                    port.unsubscribe(one.getKey());
                } else {
                    channel.idle = true;
                }
            }
            if (!channels.isEmpty()) {
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
            channels.clear();
        } finally {
            mutex.unlock();
        }
        calls.close();
    }
}
