package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.ServerError;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;

/**
 * The channels that are heard from one server: one connection, and a thread that reads it and makes it anew when it breaks.
 * It begins with the first channel, and ends with the last.
 *
 * <p>A connection that died without a word is found by {@link #check}, which is called with every batch of renewals, so at
 * least every third of a ticket's time to live while anybody waits: it asks for a sign of life, and ends the connection if
 * the one asked for before has not come in time.
 *
 * <p>A node of a cluster does not keep its channels for ever. When the connection breaks, or the node ends one of them, all go
 * to {@link Displaced}, which finds their nodes anew.
 */
final class Subscription implements AutoCloseable {

    /** The wait before a new connection, at first; it doubles, */
    static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** up to this. */
    static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Finds the servers for channels that theirs does not serve any more. */
    interface Displaced {

        /** Takes the channels over; must not block. */
        void displaced(List<Channel> channels);
    }

    private final ConnectionSource source;
    private final MonotonicClock clock;
    private final @Nullable Displaced displaced;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<String, Channel> wanted = new LinkedHashMap<>();
    private @Nullable Thread thread;
    private boolean closed;
    private boolean sharded;
    private @Nullable Line line;

    /** @param displaced for a node of a cluster, which is asked for sharded channels; else null */
    Subscription(ConnectionSource source, MonotonicClock clock, @Nullable Displaced displaced) {
        this.source = source;
        this.clock = clock;
        this.displaced = displaced;
        this.sharded = displaced != null;
    }

    /** Begins to hear a channel, unless it is heard. Does not wait for the server. */
    void add(Channel channel) {
        mutex.lock();
        try {
            if (closed) {
                throw StoreException.unavailable(Effect.NONE, "The store on " + source + " is closed", null);
            }
            if (wanted.putIfAbsent(channel.name(), channel) != null) {
                return;
            }
            if (thread == null) {
                Thread reader = new Thread(this::keepReading, "holdfast-redis-subscription");
                reader.setDaemon(true);
                thread = reader;
                reader.start();
            } else if (line != null) {
                line.request(channel);
            }
        } finally {
            mutex.unlock();
        }
    }

    void remove(String name) {
        mutex.lock();
        try {
            Channel channel = wanted.remove(name);
            if (channel != null && line != null) {
                line.leave(channel);
            }
        } finally {
            mutex.unlock();
        }
    }

    /** How long a confirmation may be waited for. */
    Duration patience() {
        return source.timeout().multipliedBy(2);
    }

    private void keepReading() {
        long pause = FIRST_PAUSE_NANOS;
        while (true) {
            Line listening = new Line();
            Channel first = begin(listening);
            if (first == null) {
                return;
            }
            StoreException failure = read(listening, first);
            boolean unknown = sharded && failure != null && isUnknownCommand(failure);
            pause = listening.hasHeard() ? FIRST_PAUSE_NANOS : Math.min(2 * pause, LONGEST_PAUSE_NANOS);
            if (unknown) {
                // Older than Redis 7. A plain channel of the node that serves the slot does the same.
                sharded = false;
            } else if (!end(failure)) {
                clock.parkNanos(this, pause);
            }
        }
    }

    private static boolean isUnknownCommand(StoreException failure) {
        return String.valueOf(failure.getMessage()).contains("unknown command");
    }

    // The first of the channels, or null if there are none and the thread ends.
    private @Nullable Channel begin(Line listening) {
        mutex.lock();
        try {
            if (closed || wanted.isEmpty()) {
                thread = null;
                return null;
            }
            line = listening;
            Channel first = wanted.values().iterator().next();
            listening.requested.add(first.name());
            return first;
        } finally {
            mutex.unlock();
        }
    }

    private @Nullable StoreException read(Line listening, Channel first) {
        try {
            listening.read(source.open(), first);
            return null;
        } catch (StoreException unreachable) {
            return unreachable;
        } catch (RuntimeException broken) {
            return ServerError.of(String.valueOf(broken.getMessage()), "the channel of this client", broken);
        } finally {
            mutex.lock();
            try {
                line = null;
            } finally {
                mutex.unlock();
            }
            listening.discard();
        }
    }

    /** Tells the channels; whether they were given away, or nobody wants any, so that there is nothing to wait for. */
    private boolean end(@Nullable StoreException failure) {
        List<Channel> channels;
        mutex.lock();
        try {
            channels = new ArrayList<>(wanted.values());
            if (displaced != null) {
                wanted.clear();
            }
        } finally {
            mutex.unlock();
        }
        if (channels.isEmpty()) {
            return true;
        }
        channels.forEach(channel -> channel.failed(failure));
        if (displaced != null && !isClosed()) {
            displaced.displaced(channels);
            return true;
        }
        return isClosed();
    }

    /** Looks after the connection; never waits for the server. */
    void check() {
        mutex.lock();
        try {
            if (line != null) {
                line.check();
            }
        } finally {
            mutex.unlock();
        }
    }

    private boolean isClosed() {
        mutex.lock();
        try {
            return closed;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public void close() {
        Thread reader;
        mutex.lock();
        try {
            closed = true;
            reader = thread;
            if (line != null) {
                line.hangUp();
            }
        } finally {
            mutex.unlock();
        }
        LockSupport.unpark(reader);
    }

    /** One connection. Whatever is sent on it is sent under the mutex. */
    private final class Line implements PubSub.Hearing {

        private final Set<String> requested = new HashSet<>();
        private final Set<String> confirmed = new HashSet<>();
        private @Nullable Connection connection;
        private @Nullable PubSub ears;
        /** When a sign of life was asked for that has not come; at first that is a confirmation. */
        private boolean asked = true;

        private boolean hungUp;
        private long askedAt = clock.nanoTime();

        private void read(Connection opened, Channel first) {
            PubSub hearing = sharded ? PubSub.sharded(this) : PubSub.plain(this);
            mutex.lock();
            try {
                connection = opened;
                ears = hearing;
                askedAt = clock.nanoTime();
                if (closed || hungUp) {
                    hangUp();
                }
            } finally {
                mutex.unlock();
            }
            hearing.read(opened, first.bytes());
        }

        private boolean hasHeard() {
            return !confirmed.isEmpty();
        }

        private void discard() {
            if (connection != null) {
                source.discard(connection);
            }
        }

        // Before the first confirmation nothing else can be sent; the reader makes up for it then.
        private void request(Channel channel) {
            if (hasHeard() && requested.add(channel.name())) {
                send(() -> ears().subscribe(channel.bytes()));
            }
        }

        private void leave(Channel channel) {
            if (hasHeard() && requested.remove(channel.name())) {
                send(() -> ears().unsubscribe(channel.bytes()));
            }
        }

        private PubSub ears() {
            return Objects.requireNonNull(ears, "nothing is sent before there is a connection");
        }

        private void send(Runnable request) {
            try {
                request.run();
            } catch (JedisException broken) {
                hangUp();
            }
        }

        @Override
        public void confirmed(byte[] name) {
            Channel channel;
            boolean isNew;
            mutex.lock();
            try {
                asked = false;
                String text = text(name);
                channel = wanted.get(text);
                isNew = confirmed.add(text);
                // The new ones first: the reader ends with the last channel.
                wanted.values().forEach(this::request);
                if (channel == null && requested.remove(text)) {
                    send(() -> ears().unsubscribe(name));
                }
            } finally {
                mutex.unlock();
            }
            if (channel != null && isNew) {
                channel.confirmed();
            }
        }

        @Override
        public void message(byte[] name, byte[] text) {
            Channel channel;
            mutex.lock();
            try {
                channel = wanted.get(text(name));
            } finally {
                mutex.unlock();
            }
            if (channel != null) {
                channel.message(text);
            }
        }

        @Override
        public void ended(byte[] name) {
            mutex.lock();
            try {
                // Unasked: the slot has moved to another node.
                if (requested.contains(text(name))) {
                    hangUp();
                }
            } finally {
                mutex.unlock();
            }
        }

        @Override
        public void signOfLife() {
            mutex.lock();
            try {
                asked = false;
            } finally {
                mutex.unlock();
            }
        }

        private void check() {
            Connection open = connection;
            if (open == null) {
                return;
            }
            long now = clock.nanoTime();
            boolean overdue = now - askedAt > source.timeout().toNanos();
            if (!source.isCurrent(open) || (asked && overdue)) {
                hangUp();
            } else if (overdue && !requested.isEmpty()) {
                asked = true;
                askedAt = now;
                byte[] any = requested.iterator().next().getBytes(StandardCharsets.UTF_8);
                send(() -> ears().ask(any));
            }
        }

        // The reader notices.
        private void hangUp() {
            hungUp = true;
            if (connection != null) {
                OwnConnections.end(connection);
            }
        }

        private String text(byte[] name) {
            return new String(name, StandardCharsets.UTF_8);
        }
    }
}
