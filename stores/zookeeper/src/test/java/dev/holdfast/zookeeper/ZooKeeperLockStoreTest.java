package dev.holdfast.zookeeper;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;

/** Runs the TCK on one server. Each store has a session of its own, which stays open after the store is closed. */
class ZooKeeperLockStoreTest extends LockStoreTck {

    @AutoClose
    private static OneServer server = new OneServer();

    private final List<CuratorFramework> clients = new ArrayList<>();

    @AfterEach
    void closeTheSessions() {
        clients.forEach(CuratorFramework::close);
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        CuratorFramework client = Clients.started(server.hosts());
        clients.add(client);
        return ZooKeeperLockStore.over(client);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }
}
