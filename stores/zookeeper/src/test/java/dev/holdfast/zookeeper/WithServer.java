package dev.holdfast.zookeeper;

import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;

/** A server for all tests in this JVM, with stores and clients that use it. */
public abstract class WithServer extends StoreTest {

    private static final OneServer SERVER = new OneServer();

    public static OneServer server() {
        return SERVER;
    }

    public LockStore open() {
        return open(SERVER.hosts());
    }

    LockStore open(String hosts) {
        return openUrl("zookeeper://" + hosts + "?sessionTimeout=10s");
    }

    public LockStore openUrl(String url) {
        return closing(new ZooKeeperLockStoreProvider().open(url, MonotonicClock.SYSTEM));
    }

    public Proxy proxy() {
        return closing(new Proxy(SERVER.hosts()));
    }

    public CuratorFramework curator() {
        return closing(Clients.started(SERVER.hosts()));
    }

    /** The names of the children of a lock's parent node. */
    static List<String> nodes(CuratorFramework client, LockName name) {
        try {
            return client.getChildren().forPath("/holdfast/" + name);
        } catch (org.apache.zookeeper.KeeperException.NoNodeException unused) {
            return List.of();
        } catch (Exception failure) {
            throw new AssertionError(failure);
        }
    }
}
