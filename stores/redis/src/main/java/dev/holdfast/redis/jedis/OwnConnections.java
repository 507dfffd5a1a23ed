package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.ServerError;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.ServerAddress;
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
 * Connections of our own to one server, or to the server that is the primary at the moment. Idle connections are
 * kept, up to the number of calls that may run at once. The connection that was used last is used next.
 */
public final class OwnConnections implements ConnectionSource {

    /** The current target of the connections. */
    public interface Target {

        /**
         * The server's address.
         *
         * @throws StoreException with effect NONE if it is not known
         */
        ServerAddress address();

        /** Whether a connection to this address is still useful. */
        default boolean isCurrent(ServerAddress address) {
            return true;
        }

        /** Checks a new connection to this address before it is used. */
        default void check(Connection connection, ServerAddress address) {}

        /** Reports that no connection could be made. */
        default void unreachable() {}

        /** Ends the target: no method is called after this one. */
        default void close() {}
    }

    private final Target target;
    private final String endpoint;
    private final Duration timeout;
    private final DefaultJedisClientConfig config;
    private final MonotonicClock clock;
    private final Semaphore free;
    private final Deque<Connection> idle = new ConcurrentLinkedDeque<>();
    private volatile boolean closed;

    /** A connection that says where it leads. Those of Jedis 7 do not. */
    private static final class AddressedConnection extends Connection {

        private final ServerAddress address;
        /** Has no initial value here, as it is set while the constructor of Jedis runs. */
        private boolean wasConnected;

        private AddressedConnection(ServerAddress address, DefaultJedisClientConfig config) {
            super(new HostAndPort(address.host(), address.port()), config);
            this.address = address;
        }

        // What was closed, as by another thread at its time limit, Jedis would connect again with its next
        // command, without password and database: the lock would be another one.
        @Override
        public void connect() {
            if (wasConnected && !isConnected()) {
                throw new JedisConnectionException("The connection was closed");
            }
            super.connect();
            wasConnected = true;
        }
    }

    /** @param endpoint the servers that the connections lead to, for messages */
    public OwnConnections(
            Target target,
            String endpoint,
            DefaultJedisClientConfig config,
            RedisOptions options,
            MonotonicClock clock) {
        this.target = target;
        this.endpoint = endpoint;
        this.clock = clock;
        this.config = config;
        this.timeout = options.timeout();
        this.free = new Semaphore(options.connections());
    }

    /** Connections to the one server of a URL. */
    static OwnConnections toServer(RedisUrl url, MonotonicClock clock) {
        ServerAddress server = url.hosts().get(0);
        return new OwnConnections(() -> server, url.toString(), config(url), url.options(), clock);
    }

    /** The settings of connections to the servers of a URL. */
    public static DefaultJedisClientConfig config(RedisUrl url) {
        return config(url, url.user(), url.password(), url.database());
    }

    /** The settings of connections to the Sentinels of a URL. */
    static DefaultJedisClientConfig sentinelConfig(RedisUrl url) {
        RedisOptions options = url.options();
        return config(
                url,
                options.sentinelUser().isEmpty() ? null : options.sentinelUser(),
                options.sentinelPassword().isEmpty() ? null : options.sentinelPassword(),
                0);
    }

    private static DefaultJedisClientConfig config(
            RedisUrl url, @Nullable String user, @Nullable String password, int database) {
        int millis = url.options().timeoutMillis();
        DefaultJedisClientConfig.Builder builder = DefaultJedisClientConfig.builder()
                .connectionTimeoutMillis(millis)
                .socketTimeoutMillis(millis)
                .blockingSocketTimeoutMillis(0)
                .clientSetInfoConfig(ClientSetInfoConfig.DISABLED)
                .clientName("holdfast")
                .database(database);
        NewCalls.stayWithRespTwo(builder);
        if (user != null) {
            builder.user(user);
        }
        if (password != null) {
            builder.password(password);
        }
        if (url.tls()) {
            // Trusts what the JVM trusts, and checks that the certificate is for this host: by default Jedis checks
            // no host name.
            builder.sslOptions(
                    SslOptions.builder().sslVerifyMode(SslVerifyMode.FULL).build());
        }
        return builder.build();
    }

    @Override
    public Connection borrow() {
        if (!free.tryAcquire() && !acquireInTime()) {
            throw StoreException.unavailable(
                    Effect.NONE,
                    "No connection to " + endpoint + " was free within " + timeout.toMillis()
                            + " ms; the option connections says how many there are",
                    null);
        }
        Connection connection = null;
        try {
            connection = idleOrNew();
            return connection;
        } finally {
            if (connection == null) {
                free.release();
            }
        }
    }

    private Connection idleOrNew() {
        for (Connection kept = idle.pollFirst(); kept != null; kept = idle.pollFirst()) {
            if (isCurrent(kept)) {
                return kept;
            }
            end(kept);
        }
        return open();
    }

    // Like acquireUninterruptibly(), but with a time limit.
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
        try {
            if (connection.isBroken()) {
                end(connection);
                // The server may have been restarted. Then every idle connection is broken, too, and each one would
                // make a call fail.
                endIdle();
            } else {
                idle.addFirst(connection);
                if (closed) {
                    endIdle();
                }
            }
        } finally {
            free.release();
        }
    }

    @Override
    public Connection open() {
        if (closed) {
            throw StoreException.unavailable(Effect.NONE, "The store on " + endpoint + " is closed", null);
        }
        ServerAddress address = target.address();
        Connection connection = connect(address);
        boolean usable = false;
        try {
            target.check(connection, address);
            usable = true;
            return connection;
        } finally {
            if (!usable) {
                end(connection);
            }
        }
    }

    private Connection connect(ServerAddress address) {
        try {
            return new AddressedConnection(address, config);
        } catch (JedisConnectionException unreachable) {
            target.unreachable();
            throw StoreException.unavailable(
                    Effect.NONE,
                    "Cannot connect to " + endpoint + " (" + innermost(unreachable)
                            + "): is the server running, and are host, port and TLS right?",
                    unreachable);
        } catch (JedisException refused) {
            StoreException meaning = ServerError.of(String.valueOf(refused.getMessage()), endpoint, refused);
            // Only the handshake was sent, so the failure has no effect, whatever the server answered.
            throw meaning.effect() == Effect.NONE
                    ? meaning
                    : StoreException.unavailable(Effect.NONE, String.valueOf(meaning.getMessage()), refused);
        }
    }

    @Override
    public boolean isCurrent(Connection connection) {
        return connection instanceof AddressedConnection own && target.isCurrent(own.address);
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
        target.close();
        endIdle();
    }

    private void endIdle() {
        for (Connection connection = idle.pollFirst(); connection != null; connection = idle.pollFirst()) {
            end(connection);
        }
    }

    static void end(Connection connection) {
        try {
            connection.forceDisconnect();
        } catch (IOException | JedisException alreadyGone) {
            // The connection is unusable anyway, which is why it is closed.
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
        return endpoint;
    }
}
