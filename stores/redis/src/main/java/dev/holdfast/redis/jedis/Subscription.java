package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.ServerError;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.DaemonThreads;
import dev.holdfast.store.TimeLimit;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisMovedDataException;

/**
 * The channels that are subscribed at one server: one connection, and a thread that reads it and replaces it when
 * it breaks. The thread starts with the first channel, and ends with the last one.
 *
 * <p>{@link #check} finds a connection that died without notice. It is called with every batch of renewals, so at
 * least every third of a ticket's time to live while any claim waits, and when a confirmation is late. It sends a
 * probe, and closes the connection if the previous probe was not answered in time.
 *
 * <p>On a cluster, slots may move to another node. When the connection breaks, or the node ends one of its
 * channels, all channels go to {@link Displaced}, which finds their new nodes.
 */
final class Subscription implements AutoCloseable {

    /** The first pause before a new connection is made. It doubles with every failure. */
    static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** The longest pause before a new connection is made. */
    static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Finds new servers for channels that their server does not serve any more. */
    interface Displaced {

        /** Takes the channels over; must not block. */
        void displaced(List<Channel> channels);

        /** Another node has the slot of a channel; must not block. */
        void moved(int slot, Exchange.Redirection owner);
    }

    private final ConnectionSource source;
    private final MonotonicClock clock;
    private final @Nullable Displaced displaced;
    private final ThreadFactory threads;
    private final TimeLimit limit;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<String, Channel> wanted = new LinkedHashMap<>();
    private @Nullable Thread thread;
    private boolean closed;
    private boolean sharded;
    private @Nullable SubscriberConnection current;

    /** @param displaced set for a node of a cluster, at which sharded channels are subscribed; else null */
    Subscription(ConnectionSource source, MonotonicClock clock, @Nullable Displaced displaced) {
        this(source, clock, displaced, Thread::new);
    }

    /** @param threads makes the thread that reads */
    Subscription(ConnectionSource source, MonotonicClock clock, @Nullable Displaced displaced, ThreadFactory threads) {
        this.threads = threads;
        this.source = source;
        this.limit = new TimeLimit(source.timeout());
        this.clock = clock;
        this.displaced = displaced;
        this.sharded = displaced != null;
    }

    /** Subscribes to a channel, unless it is subscribed. Does not wait for the server. */
    void add(Channel channel) {
        mutex.lock();
        try {
            if (closed) {
                throw StoreException.unavailable(Effect.NONE, "The store on " + source + " is closed", null);
            }
            boolean isNew = wanted.putIfAbsent(channel.name(), channel) == null;
            if (isNew && current != null) {
                current.subscribe(channel);
            }
            if (!isRead()) {
                throw StoreException.unavailable(
                        Effect.NONE, "Cannot subscribe: the process has too many threads or too little memory", null);
            }
        } finally {
            mutex.unlock();
        }
    }

    // Starts the thread if there is none and one is needed. Returns false if that is not possible now.
    private boolean isRead() {
        if (thread == null && !closed && !wanted.isEmpty()) {
            thread = DaemonThreads.start(threads, this::keepReading, "holdfast-redis-subscription");
            return thread != null;
        }
        return true;
    }

    void remove(String name) {
        mutex.lock();
        try {
            Channel channel = wanted.remove(name);
            if (channel != null && current != null) {
                current.unsubscribe(channel);
            }
        } finally {
            mutex.unlock();
        }
    }

    /** Ends the connection on which a channel is confirmed; another one is made at once. */
    void replace(String name) {
        mutex.lock();
        try {
            if (current != null && current.confirmed.contains(name)) {
                current.disconnect();
            }
        } finally {
            mutex.unlock();
        }
    }

    /**
     * Ends the connection, because its server has become a replica or has left the cluster; another one is made at
     * once. A connection that is young stays: new ones may lead to the same server for a while, and each is followed by
     * a refresh, which meets the same error.
     */
    void replace() {
        mutex.lock();
        try {
            if (current != null && current.isConfirmed() && clock.nanoTime() - current.openedAt > LONGEST_PAUSE_NANOS) {
                current.disconnect();
            }
        } finally {
            mutex.unlock();
        }
    }

    /** Closes it if no channel is subscribed here; returns whether it is closed. */
    boolean closeIfIdle() {
        mutex.lock();
        try {
            closed |= wanted.isEmpty();
            return closed;
        } finally {
            mutex.unlock();
        }
    }

    /**
     * Waits until a server has confirmed the subscription to a channel. A connection on which nothing is confirmed in
     * time is replaced, so that the next attempt does not wait for the same one.
     *
     * @param endpoint what the message of a failure names
     */
    void awaitConfirmation(Channel channel, Object endpoint) {
        try {
            channel.awaitConfirmation(source.timeout().multipliedBy(2), endpoint);
        } catch (StoreException unconfirmed) {
            check();
            throw unconfirmed;
        }
    }

    private void keepReading() {
        long pause = FIRST_PAUSE_NANOS;
        while (true) {
            try {
                SubscriberConnection next = new SubscriberConnection();
                Channel first = begin(next);
                if (first == null) {
                    return;
                }
                StoreException failure = read(next, first);
                boolean unknown = sharded && failure != null && isUnknownCommand(failure);
                pause = next.isConfirmed() ? FIRST_PAUSE_NANOS : Math.min(2 * pause, LONGEST_PAUSE_NANOS);
                if (unknown) {
                    // The server is older than Redis 7. A plain channel at the node that serves the slot does the same.
                    sharded = false;
                } else if (!end(failure, next.moved)) {
                    clock.parkNanos(this, pause);
                }
            } catch (Error noMemory) {
                // Nobody would start another thread, and nothing would be pushed to this client any more.
                clock.parkNanos(this, LONGEST_PAUSE_NANOS);
            }
        }
    }

    private static boolean isUnknownCommand(StoreException failure) {
        return String.valueOf(failure.getMessage()).contains("unknown command");
    }

    // Returns the first of the channels, or null if there are none and the thread ends.
    private @Nullable Channel begin(SubscriberConnection next) {
        mutex.lock();
        try {
            if (closed || wanted.isEmpty()) {
                thread = null;
                return null;
            }
            current = next;
            Channel first = wanted.values().iterator().next();
            next.requested.add(first.name());
            return first;
        } finally {
            mutex.unlock();
        }
    }

    private @Nullable StoreException read(SubscriberConnection next, Channel first) {
        try {
            next.read(source.open(), first);
            return null;
        } catch (StoreException unreachable) {
            return unreachable;
        } catch (JedisMovedDataException elsewhere) {
            if (displaced != null) {
                next.moved = true;
                displaced.moved(elsewhere.getSlot(), Exchange.Redirection.of(elsewhere));
                return null;
            }
            return ServerError.of(String.valueOf(elsewhere.getMessage()), "the channel of this client", elsewhere);
        } catch (RuntimeException broken) {
            return ServerError.of(String.valueOf(broken.getMessage()), "the channel of this client", broken);
        } finally {
            mutex.lock();
            try {
                current = null;
            } finally {
                mutex.unlock();
            }
            next.discard();
        }
    }

    /**
     * Reports the failure to the channels; that another node has a slot is none, nor that the reader has ended with its last
     * channel while another one was added. Returns true if the thread need not
     * pause: the channels were given to {@link Displaced}, there are none, or the store is closed.
     */
    private boolean end(@Nullable StoreException failure, boolean moved) {
        List<Channel> channels;
        boolean wasClosed;
        mutex.lock();
        try {
            // In one step: a subscription that has lost its channels here looks idle, and may be closed for that.
            wasClosed = closed;
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
        if (failure != null && !moved) {
            channels.forEach(channel -> channel.failed(failure));
        }
        if (displaced != null && !wasClosed) {
            displaced.displaced(channels);
            return true;
        }
        return wasClosed;
    }

    /** Checks the thread and the connection; never waits for the server. */
    void check() {
        mutex.lock();
        try {
            if (isRead() && current != null) {
                current.check();
            }
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
            if (current != null) {
                current.disconnect();
            }
        } finally {
            mutex.unlock();
        }
        LockSupport.unpark(reader);
    }

    /** One connection. Requests on it are sent while the mutex is held. */
    private final class SubscriberConnection implements PubSub.Listener {

        private final Set<String> requested = new HashSet<>();
        private final Set<String> confirmed = new HashSet<>();
        /** The channels that were unsubscribed and whose end the server has not confirmed, each as often as that. */
        private final List<String> leaving = new ArrayList<>();

        private boolean answered;
        private @Nullable Connection connection;
        private @Nullable PubSub pubSub;
        /** Whether another node serves the slot of one of the channels. */
        private boolean moved;

        /** Whether a probe is unanswered; at first, whether the first confirmation is missing. */
        private boolean probePending = true;

        private boolean disconnected;
        private final long openedAt = clock.nanoTime();
        private long probedAt = openedAt;

        private void read(Connection opened, Channel first) {
            PubSub newPubSub = sharded ? PubSub.sharded(this) : PubSub.plain(this);
            mutex.lock();
            try {
                connection = opened;
                pubSub = newPubSub;
                probedAt = clock.nanoTime();
                if (closed || disconnected) {
                    disconnect();
                }
            } finally {
                mutex.unlock();
            }
            newPubSub.read(opened, first.bytes());
        }

        private boolean isConfirmed() {
            return answered;
        }

        private void discard() {
            if (connection != null) {
                source.discard(connection);
            }
        }

        // Before the first confirmation nothing else can be sent; confirmed() then sends what is missing.
        private void subscribe(Channel channel) {
            if (isConfirmed() && requested.add(channel.name())) {
                send(() -> pubSub().subscribe(channel.bytes()));
            }
        }

        private void unsubscribe(Channel channel) {
            if (isConfirmed() && requested.remove(channel.name())) {
                leave(channel.name(), channel.bytes());
            }
        }

        private void leave(String text, byte[] name) {
            confirmed.remove(text);
            leaving.add(text);
            send(() -> pubSub().unsubscribe(name));
        }

        private PubSub pubSub() {
            return Objects.requireNonNull(pubSub, "nothing is sent before there is a connection");
        }

        // The names of many channels may not fit into the buffers of the system. If the server does not read
        // them, the write blocks, and with it whoever needs the mutex, as each renewal does.
        private void send(Runnable request) {
            Connection open = connection;
            if (disconnected || open == null) {
                return; // the reading thread ends it, and subscribes to all on another one
            }
            TimeLimit.Call call = limit.begin(() -> OwnConnections.end(open));
            try {
                request.run();
            } catch (JedisException broken) {
                disconnect();
            } finally {
                call.end();
            }
        }

        @Override
        public void confirmed(byte[] name) {
            Channel channel;
            boolean isNew;
            mutex.lock();
            try {
                probePending = false;
                answered = true;
                String text = text(name);
                channel = wanted.get(text);
                // What was unsubscribed meanwhile may be subscribed a second time, which another confirmation is for.
                isNew = !leaving.contains(text) && confirmed.add(text);
                // Subscribes to new channels before it unsubscribes from others, because the reader ends with its
                // last channel.
                wanted.values().forEach(this::subscribe);
                if (channel == null && requested.remove(text)) {
                    leave(text, name);
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
                // Not requested by us, so the slot has moved to another node.
                if (!leaving.remove(text(name)) && requested.contains(text(name))) {
                    disconnect();
                }
            } finally {
                mutex.unlock();
            }
        }

        @Override
        public void alive() {
            mutex.lock();
            try {
                probePending = false;
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
            boolean overdue = now - probedAt > source.timeout().toNanos();
            if (!source.isCurrent(open) || (probePending && overdue)) {
                disconnect();
            } else if (overdue && !requested.isEmpty()) {
                probePending = true;
                probedAt = now;
                byte[] any = requested.iterator().next().getBytes(StandardCharsets.UTF_8);
                send(() -> pubSub().probe(any));
            }
        }

        // The reading thread notices the closed connection and ends it.
        private void disconnect() {
            disconnected = true;
            if (connection != null) {
                OwnConnections.end(connection);
            }
        }

        private String text(byte[] name) {
            return new String(name, StandardCharsets.UTF_8);
        }
    }
}
