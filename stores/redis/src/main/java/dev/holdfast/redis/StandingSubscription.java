package dev.holdfast.redis;

import dev.holdfast.redis.RedisPort.Subscriber;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.BinaryJedisPubSub;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A subscription that lasts: a thread that reads it, and makes it anew when its connection breaks. It begins when it is first
 * asked for.
 *
 * <p>A connection that died without a word is found by {@link #check}, which is called with every batch of renewals, so at
 * least every third of a ticket's time to live while anybody waits: it asks for a sign of life, and ends the connection if
 * the one asked for before has not come in time.
 */
final class StandingSubscription implements AutoCloseable {

    /** The wait before a new connection, at first; it doubles, */
    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** up to this. */
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ConnectionSource source;
    private final MonotonicClock clock;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Condition changed = mutex.newCondition();
    private @Nullable Thread thread;
    private boolean closed;
    /** How often the server has confirmed, and how often it, or the connection, has failed. */
    private long confirmations;

    private long failures;
    private @Nullable StoreException failure;
    private @Nullable Ears ears;

    StandingSubscription(ConnectionSource source, MonotonicClock clock) {
        this.source = source;
        this.clock = clock;
    }

    /** Begins unless it has begun, and waits until the server has confirmed once. */
    void begin(String channel, Subscriber subscriber) {
        mutex.lock();
        try {
            if (closed) {
                throw StoreException.unavailable(Effect.NONE, "The store on " + source + " is closed", null);
            }
            if (thread == null) {
                byte[] name = channel.getBytes(StandardCharsets.UTF_8);
                Thread reader = new Thread(() -> keepReading(name, subscriber), "holdfast-redis-subscription");
                reader.setDaemon(true);
                reader.start();
                thread = reader;
            }
            awaitConfirmation();
        } finally {
            mutex.unlock();
        }
    }

    private void awaitConfirmation() {
        boolean interrupted = false;
        long failedBefore = failures;
        long deadline = clock.nanoTime() + 2 * source.timeout().toNanos();
        try {
            while (confirmations == 0) {
                long left = deadline - clock.nanoTime();
                if (closed || failures > failedBefore || left <= 0) {
                    throw unconfirmed();
                }
                try {
                    long ignored = changed.awaitNanos(left);
                } catch (InterruptedException keptForLater) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private StoreException unconfirmed() {
        StoreException cause = failure;
        if (cause != null && !cause.retryable()) {
            return StoreException.refused("Cannot subscribe: " + cause.getMessage(), cause);
        }
        String why = cause == null ? source + " has not confirmed it in time" : String.valueOf(cause.getMessage());
        return StoreException.unavailable(Effect.NONE, "Cannot subscribe: " + why, cause);
    }

    private void keepReading(byte[] channel, Subscriber subscriber) {
        long pause = FIRST_PAUSE_NANOS;
        while (!isClosed()) {
            Connection connection = null;
            Ears listening = null;
            try {
                connection = source.open();
                listening = new Ears(connection, subscriber);
                setEars(listening);
                listening.proceed(connection, channel);
                failed(null);
            } catch (StoreException unreachable) {
                failed(unreachable);
            } catch (RuntimeException broken) {
                failed(ServerError.of(String.valueOf(broken.getMessage()), "the channel of this client", broken));
            } finally {
                setEars(null);
                if (connection != null) {
                    source.discard(connection);
                }
            }
            pause = listening != null && listening.confirmed
                    ? FIRST_PAUSE_NANOS
                    : Math.min(2 * pause, LONGEST_PAUSE_NANOS);
            if (!isClosed()) {
                clock.parkNanos(this, pause);
            }
        }
    }

    /** Looks after the connection; never waits for the server. */
    void check() {
        Ears listening;
        mutex.lock();
        try {
            listening = ears;
        } finally {
            mutex.unlock();
        }
        if (listening != null) {
            listening.check();
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

    private void setEars(@Nullable Ears listening) {
        mutex.lock();
        try {
            ears = listening;
            if (closed && listening != null) {
                listening.hangUp();
            }
        } finally {
            mutex.unlock();
        }
    }

    private void failed(@Nullable StoreException why) {
        mutex.lock();
        try {
            failures++;
            failure = why;
            changed.signalAll();
        } finally {
            mutex.unlock();
        }
    }

    private boolean confirmedBefore() {
        mutex.lock();
        try {
            confirmations++;
            failure = null;
            changed.signalAll();
            return confirmations > 1;
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
            if (ears != null) {
                ears.hangUp();
            }
            changed.signalAll();
        } finally {
            mutex.unlock();
        }
        LockSupport.unpark(reader);
    }

    /** Reads one connection. */
    private final class Ears extends BinaryJedisPubSub {

        private final Connection connection;
        private final Subscriber subscriber;
        private volatile boolean confirmed;
        /** When a sign of life was asked for that has not come; what comes first after {@link #confirmed} is the subscription. */
        private volatile boolean asked = true;

        private volatile long askedAt = clock.nanoTime();

        private Ears(Connection connection, Subscriber subscriber) {
            this.connection = connection;
            this.subscriber = subscriber;
        }

        @Override
        public void onSubscribe(byte[] channel, int subscribedChannels) {
            confirmed = true;
            asked = false;
            if (confirmedBefore()) {
                subscriber.resubscribed();
            }
        }

        @Override
        public void onPong(byte[] text) {
            asked = false;
        }

        @Override
        public void onMessage(byte[] channel, byte[] message) {
            subscriber.message(new String(message, StandardCharsets.UTF_8));
        }

        private void check() {
            long now = clock.nanoTime();
            long waited = now - askedAt;
            if (asked) {
                if (waited > source.timeout().toNanos()) {
                    hangUp();
                }
            } else if (waited > source.timeout().toNanos()) {
                asked = true;
                askedAt = now;
                try {
                    ping();
                } catch (JedisException broken) {
                    hangUp();
                }
            }
        }

        private void hangUp() {
            try {
                connection.forceDisconnect();
            } catch (java.io.IOException | JedisException alreadyGone) {
                // The reader notices in any case.
                return;
            }
        }
    }
}
