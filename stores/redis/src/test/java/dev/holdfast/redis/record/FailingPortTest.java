package dev.holdfast.redis.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.Script;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits.NodeRole;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A port that throws instead of sending a request. Whoever waits for the answer learns of it. */
class FailingPortTest extends StoreTest {

    private static final List<Object> BUSY = List.of(0L, 1_000_000L, 0L);
    private static final List<Object> PAGE = List.of("7".getBytes(StandardCharsets.UTF_8), List.of());

    private final RedisOptions options = RedisUrl.parse("redis://localhost").options();

    /** Before, the search never ended, nor did the call of whoever waited for it without a limit. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void searchEnds(int failing) {
        // The second page comes on another thread, as over Lettuce.
        RedisPort port =
                port("run", failing, call -> call == 2 ? later(PAGE) : CompletableFuture.completedFuture(PAGE));
        KeyScan scan = new KeyScan(port, Script.LIST, new LockKeys("holdfast:"), "", 1, MonotonicClock.SYSTEM);
        assertThatThrownBy(() -> get(scan.run())).hasRootCauseInstanceOf(OutOfMemoryError.class);
    }

    /** Before, the listener never learned of it, and a lock that waited for its answer sent no further request. */
    @ParameterizedTest
    @ValueSource(strings = {"run", "subscribe"})
    void waiterFails(String method) {
        // A free lock is tried first, then its channel is subscribed, and then it is enqueued.
        RedisPort port = port(method, method.equals("run") ? 2 : 1, call -> CompletableFuture.completedFuture(BUSY));
        RecordingListener listener = new RecordingListener();
        new RecordLockStore(port, options, MonotonicClock.SYSTEM).enqueue(alice.mutex(name), listener);
        StoreException failure = failure(listener);
        assertThat(failure.retryable()).isTrue();
        assertThat(failure).hasRootCauseInstanceOf(OutOfMemoryError.class);
    }

    private static CompletableFuture<Object> later(Object reply) {
        Executor another = task -> new Thread(task).start();
        return CompletableFuture.supplyAsync(() -> reply, another);
    }

    /**
     * A port that answers.
     *
     * @param method throws
     * @param failing which call of the method throws
     * @param replies to the calls of {@code run}, by their number
     */
    private static RedisPort port(String method, int failing, Function<Integer, CompletableFuture<Object>> replies) {
        int[] count = {0, 0};
        return (RedisPort) Proxy.newProxyInstance(
                RedisPort.class.getClassLoader(), new Class<?>[] {RedisPort.class}, (proxy, called, arguments) -> {
                    if (called.getName().equals(method) && ++count[0] == failing) {
                        throw new OutOfMemoryError("by the test");
                    }
                    return switch (called.getName()) {
                        case "slots" -> CompletableFuture.completedFuture(List.of(0));
                        case "isCluster" -> false;
                        case "nodeRole" -> NodeRole.BLOCKING;
                        case "callTimeout" -> Duration.ofMinutes(1);
                        case "run" -> replies.apply(++count[1]).thenApply(reader(arguments[1]));
                        case "subscribe" -> CompletableFuture.completedFuture(null);
                        default -> null;
                    };
                });
    }

    @SuppressWarnings("unchecked")
    private static Function<Object, Object> reader(Object argument) {
        return (Function<Object, Object>) argument;
    }
}
