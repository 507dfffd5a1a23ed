package dev.holdfast.memcached.client;

import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.RawMemcacheClient;
import com.spotify.folsom.authenticate.AsciiAuthenticator;
import com.spotify.folsom.authenticate.PlaintextAuthenticator;
import com.spotify.folsom.client.DefaultRawMemcacheClient;
import com.spotify.folsom.client.MemcacheEncoder;
import com.spotify.folsom.client.NoopMetrics;
import com.spotify.folsom.client.NoopTracer;
import com.spotify.folsom.client.ascii.DefaultAsciiMemcacheClient;
import com.spotify.folsom.client.binary.DefaultBinaryMemcacheClient;
import com.spotify.folsom.guava.HostAndPort;
import com.spotify.folsom.transcoder.ByteArrayTranscoder;
import dev.holdfast.memcached.config.MemcachedUrl;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.TimeLimit;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Connects to the server, at the first use and again when a connection was lost. There is one connection at a time.
 * Folsom would reconnect by itself and send a request again; here neither may happen unseen, so each of its clients
 * lives as long as its connection. Thread-safe.
 */
public final class Connections implements AutoCloseable {

    /** Requests that may wait for an answer. Renewals alone are sent 256 names at a time. */
    private static final int MAX_OUTSTANDING = 20_000;

    /** How many requests are written before the socket is flushed, if they are sent by the connection's own thread. */
    private static final int FLUSH_EVERY = 64;

    /** The largest value. A server refuses more than 1 MiB with key and header, unless it is told otherwise. */
    public static final int MAX_VALUE_BYTES = 1_000_000;

    /**
     * What the server must at least say about how long it has been running. It begins to count at up to 2, so it has
     * counted a second by then, and the next process starts in another second.
     */
    private static final long LEAST_UPTIME_SECONDS = 3;

    private static final long ASK_AGAIN_MILLIS = 100;

    /**
     * How long it may take to connect. A call has a shorter time limit of its own, but the connection may be ready for
     * the next one: a new JVM can need seconds to load Netty, and a new server a second to be used.
     */
    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(10);

    /** A connection is given up if no answer has come for the time limit of a call and so much more. */
    private static final Duration SILENCE = Duration.ofSeconds(3);

    private final MemcachedUrl url;
    private final MonotonicClock clock;
    private final Tls tls;
    private final TimeLimit limit;
    private final EventLoopGroup thread;
    private final KeyDump keyDump;
    private @Nullable CompletableFuture<Connection> current;
    private boolean closed;

    public Connections(MemcachedUrl url, MonotonicClock clock) {
        this.url = url;
        this.clock = clock;
        this.tls = Tls.of(url);
        this.limit = new TimeLimit(CONNECT_LIMIT);
        this.thread = new MultiThreadIoEventLoopGroup(
                1, new DefaultThreadFactory("holdfast-memcached", true), NioIoHandler.newFactory());
        this.keyDump = new KeyDump(url, tls, thread);
    }

    /** The open connection, or a new one. It fails with effect NONE. */
    public synchronized CompletionStage<Connection> connection() {
        if (closed) {
            return CompletableFuture.failedStage(
                    StoreException.unavailable(Effect.NONE, "The store in " + url + " is closed", null));
        }
        CompletableFuture<Connection> last = current;
        boolean usable = last != null
                && (!last.isDone()
                        || (!last.isCompletedExceptionally() && last.join().isOpen()));
        if (last != null && usable) {
            return last;
        }
        CompletableFuture<Connection> next = connect();
        current = next;
        return next;
    }

    /** The keys of the server that begin with a text. */
    public CompletionStage<List<String>> keys(String prefix) {
        return keyDump.keys(prefix);
    }

    // A connection that is ready after its time limit is closed again.
    private CompletableFuture<Connection> connect() {
        CompletableFuture<Connection> result = new CompletableFuture<>();
        TimeLimit.Call call = limit.begin(() -> result.completeExceptionally(StoreException.unavailable(
                Effect.NONE,
                url + " did not accept a connection within " + CONNECT_LIMIT.toSeconds() + " s. Is the server frozen?",
                null)));
        result.whenComplete((connection, failure) -> call.end());
        // The name of the server is looked up here, which may block.
        CompletableFuture.supplyAsync(this::open, thread)
                .thenCompose(opened -> opened)
                .thenCompose(raw -> login(raw).whenComplete((ready, failure) -> closeIf(failure != null, raw)))
                .thenCompose(this::checked)
                .whenComplete((connection, failure) -> {
                    if (failure != null) {
                        result.completeExceptionally(MemcachedErrors.of(failure, Effect.NONE, url.toString()));
                    } else if (!result.complete(connection)) {
                        connection.close();
                    }
                });
        return result;
    }

    private CompletionStage<RawMemcacheClient> open() {
        return DefaultRawMemcacheClient.connect(
                HostAndPort.fromParts(url.server().host(), url.server().port()),
                MAX_OUTSTANDING,
                FLUSH_EVERY,
                url.options().sasl(),
                null,
                url.options().timeout().plus(SILENCE).toMillis(),
                StandardCharsets.UTF_8,
                NoopMetrics.INSTANCE,
                MAX_VALUE_BYTES,
                thread,
                NioSocketChannel.class,
                tls.isOn() ? tls::engine : null);
    }

    private CompletionStage<RawMemcacheClient> login(RawMemcacheClient raw) {
        String user = url.user();
        String password = url.password();
        if (user == null || password == null) {
            return CompletableFuture.completedStage(raw);
        }
        return url.options().sasl()
                ? new PlaintextAuthenticator(user, password).authenticate(raw)
                : new AsciiAuthenticator(user, password).authenticate(raw);
    }

    private static void closeIf(boolean failed, RawMemcacheClient raw) {
        if (failed) {
            raw.shutdown();
        }
    }

    private CompletionStage<Connection> checked(RawMemcacheClient raw) {
        Connection connection = over(raw);
        return connection
                .settings()
                .thenCompose(settings -> {
                    settings.check(url.toString(), url.options().sasl());
                    return awaitFirstSecond(connection);
                })
                .thenCompose(running -> connection.readTime())
                .thenApply(read -> connection)
                .whenComplete((ready, failure) -> closeIf(failure != null, raw));
    }

    private CompletionStage<Long> awaitFirstSecond(Connection connection) {
        return connection.uptime().thenCompose(uptime -> {
            if (uptime >= LEAST_UPTIME_SECONDS) {
                return CompletableFuture.completedStage(uptime);
            }
            Executor later = CompletableFuture.delayedExecutor(ASK_AGAIN_MILLIS, TimeUnit.MILLISECONDS, thread);
            return CompletableFuture.supplyAsync(() -> awaitFirstSecond(connection), later)
                    .thenCompose(ready -> ready);
        });
    }

    private Connection over(RawMemcacheClient raw) {
        MemcacheClient<byte[]> client = url.options().sasl()
                ? new DefaultBinaryMemcacheClient<>(
                        raw,
                        NoopMetrics.INSTANCE,
                        NoopTracer.INSTANCE,
                        ByteArrayTranscoder.INSTANCE,
                        StandardCharsets.UTF_8,
                        MemcacheEncoder.MAX_KEY_LEN)
                : new DefaultAsciiMemcacheClient<>(
                        raw,
                        NoopMetrics.INSTANCE,
                        NoopTracer.INSTANCE,
                        ByteArrayTranscoder.INSTANCE,
                        StandardCharsets.UTF_8,
                        MemcacheEncoder.MAX_KEY_LEN);
        return new Connection(raw, client, thread.next(), url.toString(), clock);
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        CompletableFuture<Connection> last = current;
        if (last != null) {
            last.whenComplete((connection, failure) -> {
                if (connection != null) {
                    connection.close();
                }
            });
            last.completeExceptionally(
                    StoreException.unavailable(Effect.NONE, "The store in " + url + " is closed", null));
        }
        thread.shutdownGracefully(0, url.options().timeout().toMillis(), TimeUnit.MILLISECONDS);
    }
}
