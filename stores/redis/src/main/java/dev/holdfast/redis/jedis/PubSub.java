package dev.holdfast.redis.jedis;

import redis.clients.jedis.BinaryJedisPubSub;
import redis.clients.jedis.BinaryJedisShardedPubSub;
import redis.clients.jedis.Connection;

/** Subscribes a connection of Jedis to channels: plain ones, or the sharded ones of a cluster. */
interface PubSub {

    /** Receives the events of the subscriptions. Called by the thread that reads. */
    interface Listener {

        void confirmed(byte[] channel);

        void message(byte[] channel, byte[] text);

        /** The server has ended a subscription, on request or by itself. */
        void ended(byte[] channel);

        void alive();
    }

    /** Subscribes to a first channel and reads until there is none left; throws when the connection breaks. */
    void read(Connection connection, byte[] first);

    void subscribe(byte[] channel);

    void unsubscribe(byte[] channel);

    /**
     * Sends a request to check that the connection is alive. The answer is a call of {@link Listener#alive}, or
     * another confirmation of this channel.
     */
    void probe(byte[] channel);

    static PubSub plain(Listener listener) {
        return new Plain(listener);
    }

    static PubSub sharded(Listener listener) {
        return new Sharded(listener);
    }

    /** Uses {@code SUBSCRIBE}. */
    final class Plain extends BinaryJedisPubSub implements PubSub {

        private final Listener listener;

        private Plain(Listener listener) {
            this.listener = listener;
        }

        @Override
        public void read(Connection connection, byte[] first) {
            proceed(connection, first);
        }

        @Override
        public void subscribe(byte[] channel) {
            subscribe(new byte[][] {channel});
        }

        @Override
        public void unsubscribe(byte[] channel) {
            unsubscribe(new byte[][] {channel});
        }

        @Override
        public void probe(byte[] channel) {
            ping();
        }

        @Override
        public void onSubscribe(byte[] channel, int subscribedChannels) {
            listener.confirmed(channel);
        }

        @Override
        public void onMessage(byte[] channel, byte[] message) {
            listener.message(channel, message);
        }

        @Override
        public void onUnsubscribe(byte[] channel, int subscribedChannels) {
            listener.ended(channel);
        }

        @Override
        public void onPong(byte[] text) {
            listener.alive();
        }
    }

    /** Uses {@code SSUBSCRIBE}, which needs Redis 7. */
    final class Sharded extends BinaryJedisShardedPubSub implements PubSub {

        private final Listener listener;

        private Sharded(Listener listener) {
            this.listener = listener;
        }

        @Override
        public void read(Connection connection, byte[] first) {
            proceed(connection, first);
        }

        @Override
        public void subscribe(byte[] channel) {
            ssubscribe(new byte[][] {channel});
        }

        @Override
        public void unsubscribe(byte[] channel) {
            sunsubscribe(new byte[][] {channel});
        }

        // Jedis has no ping here; the server also answers when a channel is subscribed again.
        @Override
        public void probe(byte[] channel) {
            subscribe(channel);
        }

        @Override
        public void onSSubscribe(byte[] channel, int subscribedChannels) {
            listener.confirmed(channel);
        }

        @Override
        public void onSMessage(byte[] channel, byte[] message) {
            listener.message(channel, message);
        }

        @Override
        public void onSUnsubscribe(byte[] channel, int subscribedChannels) {
            listener.ended(channel);
        }
    }
}
