package dev.holdfast.zookeeper;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;

/**
 * Runs the TCK on an ensemble of three servers. Stores connect to the servers in turn, so that the stores of one
 * test use different servers, and most of them followers.
 */
class ThreeServersLockStoreTest extends LockStoreTck {

    private static final int SERVERS = 3;
    private static final int OPERATIONS = 1_500;

    private static TestingCluster cluster;
    private static List<String> hosts = List.of();
    private static int opened;

    private final List<CuratorFramework> clients = new ArrayList<>();

    @BeforeAll
    static void startTheServers() {
        // The tests need no data that survives a crash of the machine, and disk syncs would take most of their time.
        System.setProperty("zookeeper.forceSync", "no");
        cluster = new TestingCluster(IntStream.range(0, SERVERS)
                .mapToObj(i ->
                        new InstanceSpec(null, -1, -1, -1, true, -1, OneServer.TICK_MILLIS, 1_000, null, "127.0.0.1"))
                .toList());
        try {
            cluster.start();
        } catch (Exception failure) {
            throw new AssertionError("ZooKeeper's test servers could not be started", failure);
        }
        hosts = cluster.getInstances().stream()
                .map(InstanceSpec::getConnectString)
                .toList();
    }

    @AfterAll
    static void stopTheServers() throws IOException {
        cluster.close();
    }

    @AfterEach
    void closeTheSessions() {
        clients.forEach(CuratorFramework::close);
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        CuratorFramework client = Clients.started(hosts.get(opened++ % SERVERS));
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
