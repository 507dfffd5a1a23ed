package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort.Subscriber;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The channels that are heard. Lettuce subscribes again when a connection was made anew. Each batch of renewals looks whether
 * the connection is alive, and on a cluster whether the slot of a channel is served by another node now; and subscribes on
 * another connection if need be.
 */
final class Subscriptions {

    private final Links links;
    private final Map<String, Heard> channels = new ConcurrentHashMap<>();
    private final Set<StatefulRedisPubSubConnection<byte[], byte[]>> listenedTo = ConcurrentHashMap.newKeySet();

    Subscriptions(Links links) {
        this.links = links;
    }

    /** A channel, where it is heard from, and whether it ever was. */
    private static final class Heard {

        private final byte[] name;
        private final int slot;
        private final Subscriber subscriber;
        private volatile @Nullable StatefulRedisPubSubConnection<byte[], byte[]> connection;
        private boolean confirmed;

        private Heard(byte[] name, int slot, Subscriber subscriber) {
            this.name = name;
            this.slot = slot;
            this.subscriber = subscriber;
        }

        /** Whether it was confirmed before. */
        private synchronized boolean confirm() {
            boolean before = confirmed;
            confirmed = true;
            return before;
        }
    }

    CompletableFuture<Void> add(String channel, Subscriber subscriber) {
        byte[] name = channel.getBytes(StandardCharsets.UTF_8);
        int slot = links.isCluster() ? HashSlot.of(name) : 0;
        return hear(channels.computeIfAbsent(channel, key -> new Heard(name, slot, subscriber)));
    }

    private CompletableFuture<Void> hear(Heard channel) {
        CompletableFuture<StatefulRedisPubSubConnection<byte[], byte[]>> connection;
        try {
            connection = links.hearing(channel.slot);
        } catch (RuntimeException nowhere) {
            return CompletableFuture.failedFuture(nowhere);
        }
        return connection.thenCompose(open -> {
            if (listenedTo.add(open)) {
                open.addListener(new Ears());
            }
            channel.connection = open;
            RedisFuture<Void> confirmed = links.isCluster()
                    ? open.async().ssubscribe(channel.name)
                    : open.async().subscribe(channel.name);
            return confirmed.toCompletableFuture();
        });
    }

    void remove(String channel) {
        Heard heard = channels.remove(channel);
        StatefulRedisPubSubConnection<byte[], byte[]> open = heard == null ? null : heard.connection;
        if (heard != null && open != null) {
            if (links.isCluster()) {
                open.async().sunsubscribe(heard.name);
            } else {
                open.async().unsubscribe(heard.name);
            }
        }
    }

    /** Looks after the connections of the channels; does not wait. */
    void check() {
        if (channels.isEmpty()) {
            return;
        }
        links.checkHearing();
        for (Heard channel : channels.values()) {
            try {
                links.hearing(channel.slot).thenAccept(current -> {
                    if (channel.connection != null && current != channel.connection) {
                        hear(channel);
                    }
                });
            } catch (RuntimeException nowhere) {
                links.suspect();
            }
        }
    }

    private final class Ears extends RedisPubSubAdapter<byte[], byte[]> {

        @Override
        public void message(byte[] channel, byte[] message) {
            Heard heard = heard(channel);
            if (heard != null) {
                heard.subscriber.message(new String(message, StandardCharsets.UTF_8));
            }
        }

        @Override
        public void smessage(byte[] channel, byte[] message) {
            message(channel, message);
        }

        @Override
        public void subscribed(byte[] channel, long count) {
            Heard heard = heard(channel);
            if (heard != null && heard.confirm()) {
                heard.subscriber.resubscribed();
            }
        }

        @Override
        public void ssubscribed(byte[] channel, long count) {
            subscribed(channel, count);
        }

        // Unasked, because its slot moves: the next look finds its new place.
        @Override
        public void sunsubscribed(byte[] channel, long count) {
            if (heard(channel) != null) {
                links.suspect();
            }
        }

        private @Nullable Heard heard(byte[] channel) {
            return channels.get(new String(channel, StandardCharsets.UTF_8));
        }
    }
}
