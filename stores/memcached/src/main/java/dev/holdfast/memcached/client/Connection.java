package dev.holdfast.memcached.client;

import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcacheStatus;
import com.spotify.folsom.RawMemcacheClient;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import io.netty.channel.EventLoop;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One connection to the server. It is never made again: the numbers of values and the clock belong to the server
 * process that it leads to, and another process, after a restart, has others. Thread-safe.
 *
 * <p>Requests are answered in their order, so what is sent together is one round trip.
 */
public final class Connection {

    /** When the clock was read longer ago than this, it is read again before it is used. */
    private static final long CLOCK_NANOS = 60_000_000_000L;

    private final RawMemcacheClient raw;
    private final MemcacheClient<byte[]> client;
    private final EventLoop loop;
    private final String server;
    private final MonotonicClock clock;
    private volatile @Nullable ServerTime time;
    private CompletableFuture<ServerTime> reading = CompletableFuture.failedFuture(new IllegalStateException("none"));

    /**
     * What a write led to.
     *
     * @param status the server's answer
     * @param after the value after it, perhaps somebody else's
     */
    public record Written(MemcacheStatus status, Version after) {

        public boolean isDone() {
            return status == MemcacheStatus.OK;
        }

        /** Whether the value was not what was expected, so that nothing was written. */
        public boolean isConflict() {
            return status == MemcacheStatus.ITEM_NOT_STORED
                    || status == MemcacheStatus.KEY_EXISTS
                    || status == MemcacheStatus.KEY_NOT_FOUND;
        }
    }

    Connection(
            RawMemcacheClient raw, MemcacheClient<byte[]> client, EventLoop loop, String server, MonotonicClock clock) {
        this.loop = loop;
        this.server = server;
        this.raw = raw;
        this.client = client;
        this.clock = clock;
    }

    public boolean isOpen() {
        return raw.isConnected();
    }

    /** Reads a value. */
    public CompletionStage<Version> read(String key) {
        return send(() -> client.casGet(key).thenApply(Connection::version));
    }

    /** Stores a value if there is none, and reads what is there then, in one round trip. */
    public CompletionStage<Written> add(String key, byte[] value, int ttl) {
        return thenRead(key, () -> client.add(key, value, ttl));
    }

    /** Replaces one version of a value, and reads what is there then, in one round trip. */
    public CompletionStage<Written> replace(String key, Version version, byte[] value, int ttl) {
        return thenRead(key, () -> client.set(key, value, ttl, version.unique()));
    }

    /** Removes one version of a value: in the text protocol, replaces it by one that ends at once. */
    public CompletionStage<MemcacheStatus> remove(String key, Version version) {
        return send(() -> client.delete(key, version.unique()));
    }

    private CompletionStage<Written> thenRead(String key, Supplier<CompletionStage<MemcacheStatus>> write) {
        return send(() ->
                write.get().thenCombine(client.casGet(key), (status, after) -> new Written(status, version(after))));
    }

    // On the connection's own thread, so that all goes out in one packet. From another thread each request would be two
    // tasks of this one, to write it and to flush it: it would often be woken for each of them.
    private <T> CompletionStage<T> send(Supplier<CompletionStage<T>> requests) {
        return loop.inEventLoop()
                ? requests.get()
                : CompletableFuture.supplyAsync(requests, loop).thenCompose(answer -> answer);
    }

    /** What the last reading of the server's clock says; null if that is too long ago. */
    public @Nullable ServerTime time() {
        ServerTime last = time;
        return last == null || clock.nanoTime() - last.askedAt() > CLOCK_NANOS ? null : last;
    }

    /** Reads the server's clock. Who asks while a reading is under way gets the same. */
    public synchronized CompletionStage<ServerTime> readTime() {
        if (reading.isDone()) {
            reading = askForTime().toCompletableFuture();
        }
        return reading;
    }

    private CompletionStage<ServerTime> askForTime() {
        long askedAt = clock.nanoTime();
        return stats("").thenApply(values -> {
            long tick = number(values, "time");
            ServerTime read = new ServerTime((tick - uptime(values)) * 1_000_000, tick * 1_000_000, askedAt);
            time = read;
            return read;
        });
    }

    /** How long the server process has been running, in seconds, as it counts them. */
    CompletionStage<Long> uptime() {
        return stats("").thenApply(Connection::uptime);
    }

    /** How the server is set. */
    CompletionStage<ServerSettings> settings() {
        return stats("settings").thenApply(ServerSettings::new);
    }

    private CompletionStage<Map<String, String>> stats(String group) {
        return client.getStats(group)
                .thenApply(answer -> answer.values().iterator().next().getStats());
    }

    private static long uptime(Map<String, String> values) {
        return number(values, "uptime");
    }

    private static long number(Map<String, String> values, String name) {
        String value = values.get(name);
        if (value == null) {
            throw StoreException.unavailable(
                    Effect.NONE,
                    "The server does not say its " + name + " in \"stats\": is it Memcached, or a proxy?",
                    null);
        }
        return Long.parseLong(value);
    }

    private static Version version(@Nullable GetResult<byte[]> result) {
        return result == null
                ? Version.ABSENT
                : new Version(Objects.requireNonNull(result.getValue()), result.getCas());
    }

    /** The server, for messages. */
    @Override
    public String toString() {
        return server;
    }

    void close() {
        raw.shutdown();
    }
}
