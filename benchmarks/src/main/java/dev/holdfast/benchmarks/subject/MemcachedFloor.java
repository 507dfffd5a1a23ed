package dev.holdfast.benchmarks.subject;

import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcacheStatus;
import com.spotify.folsom.client.DefaultRawMemcacheClient;
import com.spotify.folsom.client.NoopMetrics;
import com.spotify.folsom.client.NoopTracer;
import com.spotify.folsom.client.ascii.DefaultAsciiMemcacheClient;
import com.spotify.folsom.guava.HostAndPort;
import com.spotify.folsom.transcoder.ByteArrayTranscoder;
import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/**
 * The simplest lock on Memcached by Folsom, on one connection that all threads share: {@code add} and {@code gets} in one
 * round trip, and a compare-and-set that removes the value; it does not wait.
 */
public final class MemcachedFloor implements Subject {

    private static final int LEASE_SECONDS = 30;
    private static final int MOST_BYTES = 1 << 20;
    private static final int MOST_OUTSTANDING = 1_000;
    private static final int TIMEOUT_MILLIS = 10_000;
    private static final int MOST_KEY_BYTES = 250;

    private final EventLoopGroup thread = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final MemcacheClient<byte[]> client;

    public MemcachedFloor(String url) {
        URI server = URI.create(url);
        client = new DefaultAsciiMemcacheClient<>(
                DefaultRawMemcacheClient.connect(
                                HostAndPort.fromParts(server.getHost(), server.getPort()),
                                MOST_OUTSTANDING,
                                MOST_OUTSTANDING,
                                false,
                                null,
                                TIMEOUT_MILLIS,
                                StandardCharsets.UTF_8,
                                NoopMetrics.INSTANCE,
                                MOST_BYTES,
                                thread,
                                NioSocketChannel.class,
                                null)
                        .toCompletableFuture()
                        .join(),
                NoopMetrics.INSTANCE,
                NoopTracer.INSTANCE,
                ByteArrayTranscoder.INSTANCE,
                StandardCharsets.UTF_8,
                MOST_KEY_BYTES);
    }

    @Override
    public Section mutex(String name) {
        byte[] value = UUID.randomUUID().toString().getBytes(StandardCharsets.US_ASCII);
        return new Section() {
            private final ThreadLocal<Long> number = new ThreadLocal<>();

            @Override
            public void enter() {
                CompletionStage<MemcacheStatus> added = client.add(name, value, LEASE_SECONDS);
                GetResult<byte[]> kept =
                        client.casGet(name).toCompletableFuture().join();
                check(added, "is not free");
                number.set(kept.getCas());
            }

            @Override
            public void leave() {
                check(client.delete(name, number.get()), "was lost");
            }

            private void check(CompletionStage<MemcacheStatus> status, String otherwise) {
                if (status.toCompletableFuture().join() != MemcacheStatus.OK) {
                    throw new IllegalStateException(name + " " + otherwise);
                }
            }
        };
    }

    @Override
    public void close() {
        client.shutdown();
        thread.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
}
