package dev.holdfast.zookeeper;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs the TCK on an ensemble of three servers. Stores connect to the servers in turn, so that the stores of one
 * test use different servers, and most of them followers.
 */
class ThreeServersLockStoreTest extends LockStoreTck {

    private static final int SERVERS = 3;
    private static final int OPERATIONS = 1_500;

    @TempDir
    static Path directory;

    private static ThreeServers servers;
    private static int opened;

    private final List<CuratorFramework> clients = new ArrayList<>();

    @BeforeAll
    static void startTheServers() {
        servers = new ThreeServers(directory);
        IntStream.range(0, SERVERS).forEach(servers::awaitServing);
    }

    @AfterAll
    static void stopTheServers() {
        servers.close();
    }

    @AfterEach
    void closeTheSessions() {
        clients.forEach(CuratorFramework::close);
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        CuratorFramework client = Clients.started(servers.host(opened++ % SERVERS));
        clients.add(client);
        return ZooKeeperLockStore.over(client);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    @Override
    protected int modelOperations() {
        return OPERATIONS;
    }
}
