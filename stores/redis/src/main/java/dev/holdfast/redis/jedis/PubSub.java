package dev.holdfast.redis.jedis;

import redis.clients.jedis.BinaryJedisPubSub;
import redis.clients.jedis.BinaryJedisShardedPubSub;
import redis.clients.jedis.Connection;

/** How a connection of Jedis hears channels: plain ones, or the sharded ones of a cluster. */
interface PubSub {

    /** What is heard. Called by the thread that reads. */
    interface Hearing {

        void confirmed(byte[] channel);

        void message(byte[] channel, byte[] text);

        /** The server has ended a subscription, asked or not. */
        void ended(byte[] channel);

        void signOfLife();
    }

    /** Subscribes to a first channel and reads until there is none left; throws when the connection breaks. */
    void read(Connection connection, byte[] first);

    void subscribe(byte[] channel);

    void unsubscribe(byte[] channel);

    /** Asks for a sign of life: an answer, or the confirmation of a channel that was confirmed before. */
    void ask(byte[] channel);

    static PubSub plain(Hearing hearing) {
        return new Plain(hearing);
    }

    static PubSub sharded(Hearing hearing) {
        return new Sharded(hearing);
    }

    /** {@code SUBSCRIBE}. */
    final class Plain extends BinaryJedisPubSub implements PubSub {

        private final Hearing hearing;

        private Plain(Hearing hearing) {
            this.hearing = hearing;
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
        public void ask(byte[] channel) {
            ping();
        }

        @Override
        public void onSubscribe(byte[] channel, int subscribedChannels) {
            hearing.confirmed(channel);
        }

        @Override
        public void onMessage(byte[] channel, byte[] message) {
            hearing.message(channel, message);
        }

        @Override
        public void onUnsubscribe(byte[] channel, int subscribedChannels) {
            hearing.ended(channel);
        }

        @Override
        public void onPong(byte[] text) {
            hearing.signOfLife();
        }
    }

    /** {@code SSUBSCRIBE}, of Redis 7. */
    final class Sharded extends BinaryJedisShardedPubSub implements PubSub {

        private final Hearing hearing;

        private Sharded(Hearing hearing) {
            this.hearing = hearing;
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

        // Jedis has no ping here; to subscribe again is answered as well.
        @Override
        public void ask(byte[] channel) {
            subscribe(channel);
        }

        @Override
        public void onSSubscribe(byte[] channel, int subscribedChannels) {
            hearing.confirmed(channel);
        }

        @Override
        public void onSMessage(byte[] channel, byte[] message) {
            hearing.message(channel, message);
        }

        @Override
        public void onSUnsubscribe(byte[] channel, int subscribedChannels) {
            hearing.ended(channel);
        }
    }
}
