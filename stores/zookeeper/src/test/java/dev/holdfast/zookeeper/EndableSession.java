package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.testkit.process.FaultProxy;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;

/** A client whose session a test can end at the server of all tests, as the server's clock does: while the client is away. */
final class EndableSession implements AutoCloseable {

    private final FaultProxy line;
    private final CuratorFramework client;

    EndableSession(Duration timeout) {
        this(WithServer.server().port(), timeout);
    }

    /** @param port that of the server, or of a proxy before it */
    EndableSession(int port, Duration timeout) {
        line = new FaultProxy(port);
        client = Clients.started(line.address(), timeout);
    }

    CuratorFramework client() {
        return client;
    }

    /**
     * Ends the session. Anybody with its password may close it, on a connection of his own. But a session has one connection at
     * a time: the client loses its own to this one, and connects again. It is kept away meanwhile, because that would end this
     * connection in turn, and the request to close might be lost with it.
     */
    void end() throws Exception {
        ZooKeeper victim = client.getZookeeperClient().getZooKeeper();
        // Its reply comes after those of the reads which set the watches that tell of the end.
        client.checkExists().forPath("/");
        line.refuse();
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper twin = new ZooKeeper(
                WithServer.server().hosts(),
                Math.toIntExact(Clients.SESSION.toMillis()),
                event -> {
                    if (event.getState() == KeeperState.SyncConnected) {
                        connected.countDown();
                    }
                },
                victim.getSessionId(),
                victim.getSessionPasswd());
        assertThat(connected.await(20, TimeUnit.SECONDS)).isTrue();
        twin.close();
        line.heal();
    }

    @Override
    public void close() {
        client.close();
        line.close();
    }
}
