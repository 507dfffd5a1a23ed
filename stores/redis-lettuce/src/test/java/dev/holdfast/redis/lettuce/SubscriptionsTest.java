package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.client.RedisPort.Subscriber;
import dev.holdfast.spi.MonotonicClock;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.pubsub.api.async.RedisPubSubAsyncCommands;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What is done with the connections of channels. */
class SubscriptionsTest {

    private final Connection first = new Connection();
    private final Connection second = new Connection();
    private Connection current = first;

    /** Lettuce itself replaces what is below a connection to a node of a cluster. */
    @Test
    void connectionThatIsBackHasOneListener() {
        Subscriptions subscriptions = new Subscriptions(links(), Duration.ofSeconds(2), MonotonicClock.SYSTEM);
        subscriptions.add("a", new NoOpSubscriber());
        first.open = false;
        current = second;
        subscriptions.add("b", new NoOpSubscriber());
        first.open = true;
        current = first;
        subscriptions.add("c", new NoOpSubscriber());
        assertThat(first.listeners).isEqualTo(1);
        assertThat(second.listeners).isEqualTo(1);
    }

    private Links links() {
        return made(
                Links.class,
                (proxy, method, arguments) -> method.getName().equals("isCluster")
                        ? (Object) true
                        : CompletableFuture.completedFuture(current.connection));
    }

    /** A connection that is open or not, and counts its listeners. */
    private static final class Connection {

        private boolean open = true;
        private int listeners;

        @SuppressWarnings("unchecked")
        private final StatefulRedisPubSubConnection<byte[], byte[]> connection =
                made(StatefulRedisPubSubConnection.class, (proxy, method, arguments) -> switch (method.getName()) {
                    case "isOpen" -> open;
                    case "async" -> commands();
                    case "addListener" -> {
                        listeners++;
                        yield null;
                    }
                    case "hashCode" -> System.identityHashCode(proxy);
                    default -> proxy == arguments[0];
                });

        // They are never answered.
        private static RedisPubSubAsyncCommands<?, ?> commands() {
            return made(
                    RedisPubSubAsyncCommands.class,
                    (proxy, method, arguments) -> new AsyncCommand<>(new Command<>(CommandType.SSUBSCRIBE, null)));
        }
    }

    private static <T> T made(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private static final class NoOpSubscriber implements Subscriber {

        @Override
        public void message(String text) {}

        @Override
        public void resubscribed() {}
    }
}
