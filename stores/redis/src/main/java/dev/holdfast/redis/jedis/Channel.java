package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.RedisPort.Subscriber;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A channel that stays subscribed for as long as the store wants it, over one connection after the other.
 * Thread-safe.
 */
final class Channel {

    private final String name;
    private final Subscriber subscriber;
    private final MonotonicClock clock;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Condition changed = mutex.newCondition();
    /** How often a server has confirmed the subscription. */
    private long confirmations;

    /** How often an attempt to subscribe has failed, or a connection has broken. */
    private long failures;

    private @Nullable StoreException failure;

    Channel(String name, Subscriber subscriber, MonotonicClock clock) {
        this.name = name;
        this.subscriber = subscriber;
        this.clock = clock;
    }

    String name() {
        return name;
    }

    byte[] bytes() {
        return name.getBytes(StandardCharsets.UTF_8);
    }

    void message(byte[] text) {
        subscriber.message(new String(text, StandardCharsets.UTF_8));
    }

    /** Reports that a server has confirmed the subscription on a new connection. */
    void confirmed() {
        boolean again;
        mutex.lock();
        try {
            confirmations++;
            failure = null;
            again = confirmations > 1;
            changed.signalAll();
        } finally {
            mutex.unlock();
        }
        if (again) {
            subscriber.resubscribed();
        }
    }

    /** Reports that an attempt has failed, or that a connection has broken; the caller makes another one. */
    void failed(@Nullable StoreException why) {
        mutex.lock();
        try {
            failures++;
            failure = why;
            changed.signalAll();
        } finally {
            mutex.unlock();
        }
    }

    /** Waits until a server has confirmed the subscription; throws if an attempt fails or the time is over. */
    void awaitConfirmation(Duration limit, Object endpoint) {
        boolean interrupted = false;
        long deadline = clock.nanoTime() + limit.toNanos();
        mutex.lock();
        try {
            long failedBefore = failures;
            while (confirmations == 0) {
                long left = deadline - clock.nanoTime();
                if (failures > failedBefore || left <= 0) {
                    throw unconfirmed(endpoint);
                }
                try {
                    long ignored = changed.awaitNanos(left);
                } catch (InterruptedException keptForLater) {
                    interrupted = true;
                }
            }
        } finally {
            mutex.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private StoreException unconfirmed(Object endpoint) {
        StoreException cause = failure;
        if (cause != null && !cause.retryable()) {
            return StoreException.refused("Cannot subscribe: " + cause.getMessage(), cause);
        }
        String why = cause == null ? endpoint + " has not confirmed it in time" : String.valueOf(cause.getMessage());
        return StoreException.unavailable(Effect.NONE, "Cannot subscribe: " + why, cause);
    }

    @Override
    public String toString() {
        return name;
    }
}
