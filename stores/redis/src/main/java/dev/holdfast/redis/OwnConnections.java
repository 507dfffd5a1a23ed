package dev.holdfast.redis;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.io.IOException;
import java.time.Duration;
import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.SslVerifyMode;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Connections of our own to one server. As many as there may be calls at once are kept when they are idle; the one that was
 * used last is used next.
 */
final class OwnConnections implements ConnectionSource {

    private final RedisUrl url;
    private final Duration timeout;
    private final DefaultJedisClientConfig config;
    private final MonotonicClock clock;
    private final Semaphore free;
    private final Deque<Connection> idle = new ConcurrentLinkedDeque<>();
    private volatile boolean closed;

    OwnConnections(RedisUrl url, MonotonicClock clock) {
        RedisOptions options = url.options();
        this.url = url;
        this.clock = clock;
        this.timeout = options.timeout();
        this.free = new Semaphore(options.connections());
        DefaultJedisClientConfig.Builder builder = DefaultJedisClientConfig.builder()
                .resp2()
                .autoNegotiateProtocol(false)
                .connectionTimeoutMillis(options.timeoutMillis())
                .socketTimeoutMillis(options.timeoutMillis())
                .blockingSocketTimeoutMillis(0)
                .clientSetInfoConfig(ClientSetInfoConfig.DISABLED)
                .clientName("holdfast")
                .database(url.database());
        if (url.user() != null) {
            builder.user(url.user());
        }
        if (url.password() != null) {
            builder.password(url.password());
        }
        if (url.tls()) {
            // What the JVM trusts, and for this host only. Jedis would check no host's name unless told.
            builder.sslOptions(
                    SslOptions.builder().sslVerifyMode(SslVerifyMode.FULL).build());
        }
        this.config = builder.build();
    }

    @Override
    public Connection borrow() {
        if (!free.tryAcquire() && !acquireInTime()) {
            throw StoreException.unavailable(
                    Effect.NONE,
                    "No connection to " + url + " was free within " + timeout.toMillis()
                            + " ms; the option connections says how many there are",
                    null);
        }
        Connection connection = idle.pollFirst();
        try {
            connection = connection == null ? open() : connection;
            return connection;
        } finally {
            if (connection == null) {
                free.release();
            }
        }
    }

    // Like acquireUninterruptibly(), but with a limit.
    private boolean acquireInTime() {
        boolean interrupted = false;
        long deadline = clock.nanoTime() + timeout.toNanos();
        try {
            while (true) {
                try {
                    return free.tryAcquire(deadline - clock.nanoTime(), TimeUnit.NANOSECONDS);
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

    @Override
    public void giveBack(Connection connection) {
        if (connection.isBroken()) {
            end(connection);
            // The server has perhaps been restarted; then each of these would cost a call.
            endIdle();
        } else {
            idle.addFirst(connection);
            if (closed) {
                endIdle();
            }
        }
        free.release();
    }

    @Override
    public Connection open() {
        if (closed) {
            throw StoreException.unavailable(Effect.NONE, "The store on " + url + " is closed", null);
        }
        try {
            return new Connection(new HostAndPort(url.host(), url.port()), config);
        } catch (JedisConnectionException unreachable) {
            throw StoreException.unavailable(
                    Effect.NONE,
                    "Cannot connect to " + url + " (" + innermost(unreachable)
                            + "): is the server running, and are host, port and TLS right?",
                    unreachable);
        } catch (JedisException refused) {
            StoreException meaning = ServerError.of(String.valueOf(refused.getMessage()), url, refused);
            // Nothing but the greeting was sent, whatever it was answered.
            throw meaning.effect() == Effect.NONE
                    ? meaning
                    : StoreException.unavailable(Effect.NONE, String.valueOf(meaning.getMessage()), refused);
        }
    }

    @Override
    public void discard(Connection connection) {
        end(connection);
    }

    @Override
    public Duration timeout() {
        return timeout;
    }

    @Override
    public void close() {
        closed = true;
        endIdle();
    }

    private void endIdle() {
        for (Connection connection = idle.pollFirst(); connection != null; connection = idle.pollFirst()) {
            end(connection);
        }
    }

    private static void end(Connection connection) {
        try {
            connection.forceDisconnect();
        } catch (IOException | JedisException alreadyGone) {
            // It is of no more use, which is why it is ended.
            return;
        }
    }

    static String innermost(Throwable failure) {
        Throwable cause = failure;
        for (@Nullable Throwable next = failure; next != null && next != next.getCause(); next = next.getCause()) {
            cause = next;
        }
        return cause.toString();
    }

    @Override
    public String toString() {
        return url.toString();
    }
}
