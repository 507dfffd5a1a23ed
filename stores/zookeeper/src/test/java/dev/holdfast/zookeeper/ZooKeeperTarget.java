package dev.holdfast.zookeeper;

import dev.holdfast.testkit.nemesis.TargetServer;
import java.io.IOException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** A server that is disturbed, and whose sessions are ended. */
record ZooKeeperTarget(ConfiguredServer server) implements TargetServer.WithSessions {

    static final Duration SESSION = Duration.ofSeconds(2);

    /** The server looks for sessions that are over once in each of its ticks of 500 ms. */
    static final Duration BOUND = SESSION.plusMillis(500);

    private static final int PATIENCE_MILLIS = 10_000;

    @Override
    public String url(int port) {
        return "zookeeper://127.0.0.1:" + port + "?sessionTimeout=" + SESSION.toSeconds() + "s&timeout=1s";
    }

    @Override
    public boolean endSessionOfHolder(String lock) {
        try {
            long session = sessionOfHolder("/holdfast/" + lock);
            if (session == 0) {
                return false;
            }
            connected(session, password(session)).close();
            return true;
        } catch (IOException | InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }

    /** The owner of the node with the lowest number; 0 if there is none. */
    private long sessionOfHolder(String parent) throws IOException, InterruptedException {
        try (ZooKeeper looking = connected(0, new byte[0])) {
            Optional<String> first =
                    looking.getChildren(parent, false).stream().min(Comparator.comparing(ZooKeeperTarget::number));
            Stat node = first.isEmpty() ? null : looking.exists(parent + "/" + first.get(), false);
            return node == null ? 0 : node.getEphemeralOwner();
        } catch (KeeperException nobody) {
            return 0;
        }
    }

    private static String number(String node) {
        return node.substring(node.length() - 10);
    }

    private ZooKeeper connected(long session, byte[] password) throws IOException, InterruptedException {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper client = new ZooKeeper(
                "127.0.0.1:" + server.port(),
                PATIENCE_MILLIS,
                event -> {
                    if (List.of(KeeperState.SyncConnected, KeeperState.Expired).contains(event.getState())) {
                        connected.countDown();
                    }
                },
                session,
                password);
        if (!connected.await(PATIENCE_MILLIS, TimeUnit.MILLISECONDS)) {
            throw new AssertionError("No answer of the server");
        }
        return client;
    }

    /** The password of a session, as a server makes it of the id. */
    private static byte[] password(long session) {
        byte[] password = new byte[16];
        new Random(session ^ 0xB3415C00L).nextBytes(password);
        return password;
    }
}
