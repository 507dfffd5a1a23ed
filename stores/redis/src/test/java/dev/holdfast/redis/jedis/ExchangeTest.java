package dev.holdfast.redis.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.Certificate;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.WrappedClock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/** An exchange that ends in its midst leaves replies unread. Whoever used the connection next would take them for its own. */
class ExchangeTest extends StoreTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final RedisServer server = closing(RedisServer.start());

    @BeforeEach
    void everyKeyHoldsItsOwnName() {
        Stream.of("a", "b", "c").forEach(key -> server.ask(jedis -> jedis.set(key, key)));
    }

    /** Two owners were possible: the answer to the renewal of one lock is "held", and it is read as that of another. */
    @Test
    void errorInABatchDoesNotLeaveItsRepliesToTheNextOne() {
        FailingClock clock = new FailingClock();
        RedisPort port = closing(JedisPorts.open(RedisUrl.parse(server.url() + "?timeout=8s"), clock));
        assertThat(texts(port, "a", "b")).containsExactly("a", "b");
        boolean thrown = true;
        for (int n = 1; thrown; n++) {
            clock.failIn(n);
            thrown = isThrownIn(() -> texts(port, "a", "b"));
            clock.failIn(0);
            assertThat(texts(port, "c")).as("after call %s of the clock", n).containsExactly("c");
        }
    }

    /** Before, it took for as long as the server did not read, and all renewals waited for it. */
    @Test
    void batchThatTheServerDoesNotReadIsGivenUp() {
        byte[] large = new byte[1_000_000];
        List<ServerCall> calls = Stream.generate(() -> ServerCall.command("ECHO", large))
                .limit(50)
                .toList();
        Exchange exchange = new Exchange(server.url(), Duration.ofMillis(100), MonotonicClock.SYSTEM, () -> {});
        try (Connection connection = new Connection(new HostAndPort("127.0.0.1", server.port()))) {
            connection.ping();
            server.signal("STOP");
            assertThat(exchange.all(connection, calls))
                    .allSatisfy(reply -> assertThat(reply)
                            .isInstanceOfSatisfying(
                                    StoreException.class,
                                    failure -> assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN)));
            assertThat(connection.isBroken()).isTrue();
        } finally {
            server.signal("CONT");
        }
    }

    /** Before, only batches had a limit, and the caller of a multi-lock over many names waited for as long. */
    @Test
    void requestThatTheServerDoesNotReadIsGivenUp() {
        isGivenUp(server, server.port(), DefaultJedisClientConfig.builder().build());
    }

    /** To end a connection over TLS, a message would have to be written behind the one that blocks. */
    @Test
    void requestOverTlsThatTheServerDoesNotReadIsGivenUp(@TempDir Path folder) {
        Certificate certificate = Certificate.in(folder);
        RedisServer tls = closing(RedisServer.start(certificate.settings().toArray(new String[0])));
        certificate.trust();
        try {
            isGivenUp(
                    tls,
                    tls.tlsPort(),
                    DefaultJedisClientConfig.builder().ssl(true).build());
        } finally {
            Certificate.distrust();
        }
    }

    /** As after a freeze of this process. Before, its pool lent it again, and Jedis connected it without its database. */
    @Test
    void connectionThatIsAboutToBeClosedIsBroken() {
        Exchange exchange = new Exchange(server.url(), Duration.ofMillis(50), MonotonicClock.SYSTEM, () -> {});
        CountDownLatch late = new CountDownLatch(1);
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder().build();
        try (Connection connection = new Connection(new HostAndPort("127.0.0.1", server.port()), config) {
            @Override
            public Object executeCommand(CommandArguments command) {
                Object reply = super.executeCommand(command);
                awaitUntil(() -> late.getCount() == 0);
                return reply;
            }

            @Override
            public void forceDisconnect() {
                late.countDown(); // and has not closed it yet
            }
        }) {
            assertThat(exchange.one(connection, ServerCall.command("ECHO", new byte[1]), false))
                    .isEqualTo(new byte[1]);
            assertThat(connection.isBroken()).isTrue();
        }
    }

    private static void isGivenUp(RedisServer frozen, int port, DefaultJedisClientConfig config) {
        Exchange exchange = new Exchange(frozen.url(), Duration.ofMillis(100), MonotonicClock.SYSTEM, () -> {});
        ServerCall large = ServerCall.command("ECHO", new byte[50_000_000]);
        for (ServerCall call : List.of(large, large.acknowledged(1, Duration.ofMillis(1)))) {
            try (Connection connection = new Connection(new HostAndPort("127.0.0.1", port), config)) {
                connection.ping();
                frozen.signal("STOP");
                assertThatThrownBy(() -> exchange.one(connection, call, false))
                        .isInstanceOfSatisfying(
                                StoreException.class,
                                failure -> assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN));
                assertThat(connection.isBroken()).isTrue();
            } finally {
                frozen.signal("CONT");
            }
        }
    }

    private static List<String> texts(RedisPort port, String... keys) {
        return get(port.runAll(
                Stream.of(keys).map(ExchangeTest::read).toList(),
                replies -> replies.stream()
                        .map(reply -> new String((byte[]) reply, StandardCharsets.UTF_8))
                        .toList()));
    }

    private static boolean isThrownIn(Runnable work) {
        try {
            work.run();
            return false;
        } catch (OutOfMemoryError byTheClock) {
            return true;
        }
    }

    @Test
    void errorInAnyReadBreaksTheConnection() {
        Exchange exchange = new Exchange(server.url(), TIMEOUT, MonotonicClock.SYSTEM, () -> {});
        ServerCall read = read("a");
        ServerCall acknowledged = read.acknowledged(1, Duration.ofMillis(1));
        breaks(1, connection -> exchange.one(connection, read, false));
        breaks(1, connection -> exchange.one(connection, acknowledged, false));
        breaks(2, connection -> exchange.one(connection, acknowledged, false));
        breaks(1, connection -> exchange.all(connection, List.of(read, acknowledged)));
        breaks(2, connection -> exchange.all(connection, List.of(read, acknowledged)));
        breaks(3, connection -> exchange.all(connection, List.of(read, acknowledged)));
    }

    private void breaks(int failing, Consumer<Connection> work) {
        try (FailingConnection connection = new FailingConnection(server.port(), failing)) {
            assertThatThrownBy(() -> work.accept(connection)).isInstanceOf(OutOfMemoryError.class);
            assertThat(connection.isBroken()).as("after read %s", failing).isTrue();
        }
    }

    private static ServerCall read(String key) {
        return ServerCall.command("GET", key.getBytes(StandardCharsets.UTF_8));
    }

    /** Throws an Error instead of one of its replies. */
    private static final class FailingConnection extends Connection {

        private int readsLeft;

        private FailingConnection(int port, int failing) {
            super(new HostAndPort("127.0.0.1", port));
            readsLeft = failing;
        }

        @Override
        public Object getOne() {
            if (--readsLeft == 0) {
                throw new OutOfMemoryError("by the test");
            }
            return super.getOne();
        }
    }

    /** Throws an Error once, when it is asked for the time. */
    private static final class FailingClock extends WrappedClock {

        private int callsLeft;

        private FailingClock() {
            super(MonotonicClock.SYSTEM);
        }

        /** @param calls which of the next calls throws; 0 for none */
        private void failIn(int calls) {
            callsLeft = calls;
        }

        @Override
        public long nanoTime() {
            if (callsLeft > 0 && --callsLeft == 0) {
                throw new OutOfMemoryError("by the test");
            }
            return super.nanoTime();
        }
    }
}
