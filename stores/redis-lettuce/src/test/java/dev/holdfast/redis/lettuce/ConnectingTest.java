package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.StoreTest;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.protocol.RedisHandshakeHandler;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Connections for whose failure Lettuce has no reason. It finds that its handler of the handshake is gone if the connection
 * was refused and closed before the thread that opened it has gone on, and it reports "closed prematurely" if it learns of
 * the closing before its own thread has passed the refusal on.
 */
class ConnectingTest extends StoreTest {

    private final AtomicInteger without = new AtomicInteger();
    private final AtomicInteger closed = new AtomicInteger();
    private final ClientResources resources = ClientResources.builder()
            .nettyCustomizer(new NettyCustomizer() {
                @Override
                public void afterChannelInitialized(Channel channel) {
                    if (takeOne(without)) {
                        channel.pipeline().remove(RedisHandshakeHandler.class);
                    }
                    if (takeOne(closed)) {
                        channel.pipeline().addFirst(new ClosesAtOnce());
                    }
                }
            })
            .build();

    private RedisServer server;

    @BeforeEach
    void start() {
        // The resources must live longer than the clients: a client that ends after them waits for ever.
        closing(() -> resources.shutdown().await());
        server = closing(RedisServer.start("--requirepass", "secret"));
    }

    @Test
    void wrongPasswordIsReportedThoughTheFirstFailureHasNoReason() {
        RedisClient client = closing(RedisClient.create(resources));
        without.set(1);
        assertThatThrownBy(() -> LettuceRedis.over(client, uri("wrong"), ""))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("password is wrong");
        assertThat(without).hasValue(0);
    }

    @Test
    void wrongPasswordOfAClusterIsReportedThoughTheFirstFailureHasNoReason() {
        RedisClusterClient client = closing(RedisClusterClient.create(resources, uri("wrong")));
        without.set(1);
        assertThatThrownBy(() -> LettuceRedis.over(client, ""))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("password is wrong");
        assertThat(without).hasValue(0);
    }

    @Test
    void wrongPasswordIsReportedThoughTheFirstConnectionWasClosedBeforeTheRefusalWasSeen() {
        RedisClient client = closing(RedisClient.create(resources));
        closed.set(1);
        assertThatThrownBy(() -> LettuceRedis.over(client, uri("wrong"), ""))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("password is wrong");
        assertThat(closed).hasValue(0);
    }

    @Test
    void wrongPasswordOfAClusterIsReportedThoughTheFirstConnectionWasClosedBeforeTheRefusalWasSeen() {
        RedisClusterClient client = closing(RedisClusterClient.create(resources, uri("wrong")));
        closed.set(1);
        assertThatThrownBy(() -> LettuceRedis.over(client, ""))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("password is wrong");
        assertThat(closed).hasValue(0);
    }

    @Test
    void everyConnectionIsMadeThoughItsFirstFailureHasNoReason() {
        RedisClient client = closing(RedisClient.create(resources));
        without.set(1);
        try (LockStore store = LettuceRedis.over(client, uri("secret"), "")) {
            without.set(1);
            assertThat(get(store.tryAcquire(alice.mutex(name)))).isInstanceOf(Granted.class);
            without.set(1);
            assertThat(get(store.renew(List.of(alice.mutex(name))))).isNotEmpty();
        }
    }

    @Test
    void failuresWithoutReasonForEverEnd() {
        RedisClient client = closing(RedisClient.create(resources));
        without.set(1_000);
        assertThatThrownBy(() -> LettuceRedis.over(client, uri("secret"), ""))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("Cannot connect");
        assertThat(without.get()).isGreaterThan(900);
    }

    private static boolean takeOne(AtomicInteger counter) {
        return counter.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
    }

    /** Closes the connection before anything is sent. */
    private static final class ClosesAtOnce extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext context) {
            context.close();
        }
    }

    private RedisURI uri(String password) {
        return RedisURI.builder()
                .withHost("127.0.0.1")
                .withPort(server.port())
                .withPassword(password.toCharArray())
                .build();
    }
}
