package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort.Subscriber;
import dev.holdfast.spi.MonotonicClock;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The subscribed channels. Lettuce subscribes again after it has replaced a connection. Each batch of renewals
 * checks whether the connection is alive, whether a channel has lost its subscription, and on a cluster whether
 * another node serves the slot of a channel now. If necessary it subscribes again, or on another connection.
 */
final class Subscriptions {

    private static final long LEAST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Links links;
    private final Duration timeout;
    private final Map<String, Subscription> channels = new ConcurrentHashMap<>();
    /** Weak, because a connection that is not open may have been replaced, or may come back with its listener. */
    private final Set<StatefulRedisPubSubConnection<byte[], byte[]>> withListener =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private final MonotonicClock clock;
    private final AtomicLong replacedAt;

    /** @param timeout how long a reply may be waited for; a first subscription may take twice this */
    Subscriptions(Links links, Duration timeout, MonotonicClock clock) {
        this.links = links;
        this.timeout = timeout;
        this.clock = clock;
        this.replacedAt = new AtomicLong(clock.nanoTime() - 2 * LEAST_PAUSE_NANOS);
    }

    /** A channel, the connection on which it was subscribed last, and whether it was ever confirmed. */
    private static final class Subscription {

        private final byte[] name;
        private final int slot;
        private final Subscriber subscriber;
        private volatile @Nullable StatefulRedisPubSubConnection<byte[], byte[]> connection;
        /** Whether the server knows no subscription any more, although the connection is open. */
        private volatile boolean lost;

        private boolean confirmed;

        private Subscription(byte[] name, int slot, Subscriber subscriber) {
            this.name = name;
            this.slot = slot;
            this.subscriber = subscriber;
        }

        /** Notes a confirmation. Returns whether the channel was confirmed before. */
        private synchronized boolean confirm() {
            boolean before = confirmed;
            confirmed = true;
            return before;
        }

        private synchronized boolean isConfirmed() {
            return confirmed;
        }

        /** Notes that the subscription on a connection has ended, or was refused. */
        private void lostOn(StatefulRedisPubSubConnection<byte[], byte[]> one) {
            if (connection == one) {
                lost = true;
            }
        }
    }

    CompletableFuture<Void> add(String channel, Subscriber subscriber) {
        byte[] name = channel.getBytes(StandardCharsets.UTF_8);
        int slot = links.isCluster() ? HashSlot.of(name) : 0;
        return subscribe(channels.computeIfAbsent(channel, key -> new Subscription(name, slot, subscriber)));
    }

    private CompletableFuture<Void> subscribe(Subscription channel) {
        CompletableFuture<StatefulRedisPubSubConnection<byte[], byte[]>> connection;
        try {
            connection = links.pubSub(channel.slot);
        } catch (RuntimeException nowhere) {
            return CompletableFuture.failedFuture(nowhere);
        }
        return connection.thenCompose(open -> {
            if (withListener.add(open)) {
                open.addListener(new PubSubListener(open));
            }
            StatefulRedisPubSubConnection<byte[], byte[]> before = channel.connection;
            channel.connection = open;
            channel.lost = false;
            if (links.isCluster() && before != null && before != open && before.isOpen()) {
                before.async().sunsubscribe(channel.name);
            }
            RedisFuture<Void> confirmed = links.isCluster()
                    ? open.async().ssubscribe(channel.name)
                    : open.async().subscribe(channel.name);
            // A copy, because a subscription that is confirmed later is valid, too.
            CompletableFuture<Void> inTime =
                    confirmed.toCompletableFuture().copy().orTimeout(2 * timeout.toMillis(), TimeUnit.MILLISECONDS);
            return inTime.whenComplete((done, failure) -> {
                if (failure != null) {
                    channel.lostOn(open);
                    links.suspect();
                    // Nothing else may be renewed, and then nobody else would notice a silent connection.
                    links.checkPubSub();
                }
            });
        });
    }

    /** Subscribes a channel anew, unless it is being subscribed: its server knows no subscriber. */
    void resubscribe(String channel) {
        Subscription subscription = channels.get(channel);
        if (subscription != null && subscription.isConfirmed()) {
            subscription.lost = true;
            replace();
        }
    }

    /**
     * Moves the channels to another connection, because theirs leads to a replica. On a cluster, checks them against
     * a new table of slots. Does nothing for a while after that: new connections may lead to the same server, and each
     * is followed by a refresh, which meets the same error.
     */
    void replace() {
        long now = clock.nanoTime();
        long before = replacedAt.get();
        if (!channels.isEmpty() && now - before > LEAST_PAUSE_NANOS && replacedAt.compareAndSet(before, now)) {
            links.suspectPubSub();
            links.refreshed().whenComplete((done, failure) -> check());
        }
    }

    void remove(String channel) {
        Subscription subscription = channels.remove(channel);
        StatefulRedisPubSubConnection<byte[], byte[]> open = subscription == null ? null : subscription.connection;
        if (subscription != null && open != null) {
            if (links.isCluster()) {
                open.async().sunsubscribe(subscription.name);
            } else {
                open.async().unsubscribe(subscription.name);
            }
        }
    }

    /** Checks the connections of the channels; does not wait. */
    void check() {
        if (channels.isEmpty()) {
            return;
        }
        links.checkPubSub();
        for (Subscription channel : channels.values()) {
            try {
                links.pubSub(channel.slot).thenAccept(current -> {
                    // Who subscribes for the first time finds out by itself whether that fails.
                    if (channel.isConfirmed() && (channel.lost || current != channel.connection)) {
                        subscribe(channel);
                    }
                });
            } catch (RuntimeException nowhere) {
                links.suspect();
            }
        }
    }

    private final class PubSubListener extends RedisPubSubAdapter<byte[], byte[]> {

        private final StatefulRedisPubSubConnection<byte[], byte[]> connection;

        private PubSubListener(StatefulRedisPubSubConnection<byte[], byte[]> connection) {
            this.connection = connection;
        }

        @Override
        public void message(byte[] channel, byte[] message) {
            Subscription subscription = subscription(channel);
            if (subscription != null) {
                subscription.subscriber.message(new String(message, StandardCharsets.UTF_8));
            }
        }

        @Override
        public void smessage(byte[] channel, byte[] message) {
            message(channel, message);
        }

        @Override
        public void subscribed(byte[] channel, long count) {
            Subscription subscription = subscription(channel);
            if (subscription != null && subscription.confirm()) {
                subscription.subscriber.resubscribed();
            }
        }

        @Override
        public void ssubscribed(byte[] channel, long count) {
            subscribed(channel, count);
        }

        // The server has ended the subscription by itself, because its slot moves. The next check subscribes at the
        // node that serves the slot then, which may be the same one.
        @Override
        public void sunsubscribed(byte[] channel, long count) {
            Subscription subscription = subscription(channel);
            if (subscription != null) {
                subscription.lostOn(connection);
                links.suspect();
            }
        }

        private @Nullable Subscription subscription(byte[] channel) {
            return channels.get(new String(channel, StandardCharsets.UTF_8));
        }
    }
}
