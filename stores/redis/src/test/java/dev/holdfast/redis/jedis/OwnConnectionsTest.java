package dev.holdfast.redis.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.ServerAddress;
import dev.holdfast.testkit.StoreTest;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;

class OwnConnectionsTest extends StoreTest {

    private final RedisServer server = closing(RedisServer.start());

    /** Before, each Error made one connection fewer, until there was none. */
    @Test
    void errorInBorrowingKeepsNoConnection() {
        RedisUrl url = RedisUrl.parse(server.url() + "?connections=1");
        FailingTarget target = new FailingTarget(url.hosts().get(0));
        OwnConnections connections = closing(
                new OwnConnections(target, "test", OwnConnections.config(url), url.options(), MonotonicClock.SYSTEM));
        connections.giveBack(connections.borrow());
        target.fails = true;
        assertThatThrownBy(connections::borrow).isInstanceOf(OutOfMemoryError.class);
        target.fails = false;
        connections.giveBack(connections.borrow());
    }

    /** Before, Jedis connected it once more, in silence, and what was to be written into database 1 came into database 0. */
    @Test
    void closedConnectionIsNotConnectedAgainWithoutItsDatabase() throws IOException {
        OwnConnections connections =
                closing(OwnConnections.toServer(RedisUrl.parse(server.url() + "/1"), MonotonicClock.SYSTEM));
        Connection connection = connections.borrow();
        connection.forceDisconnect();
        assertThatThrownBy(() -> connection.executeCommand(
                        new CommandArguments(Protocol.Command.SET).add("key").add("value")))
                .isInstanceOf(JedisConnectionException.class);
        assertThat(connection.isBroken()).isTrue();
        connections.giveBack(connection);
        assertThat(server.ask(Jedis::dbSize)).isZero();
    }

    private static final class FailingTarget implements OwnConnections.Target {

        private final ServerAddress address;
        private boolean fails;

        private FailingTarget(ServerAddress address) {
            this.address = address;
        }

        @Override
        public ServerAddress address() {
            return address;
        }

        @Override
        public boolean isCurrent(ServerAddress one) {
            if (fails) {
                throw new OutOfMemoryError("by the test");
            }
            return true;
        }
    }
}
