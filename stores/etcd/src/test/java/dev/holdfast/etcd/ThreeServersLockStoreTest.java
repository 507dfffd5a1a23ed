package dev.holdfast.etcd;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/**
 * The rules for every store, on a cluster of three. Each store lists the servers in another order, so that the
 * stores of one test begin with different servers.
 */
class ThreeServersLockStoreTest extends LockStoreTck {

    private static final int SERVERS = 3;
    private static final int OPERATIONS = 1_500;

    private static List<EtcdServer> members = List.of();
    private static int handles;

    @BeforeAll
    static void startTheServers() {
        members = EtcdServer.startCluster(SERVERS);
    }

    @AfterAll
    static void stopTheServers() {
        members.forEach(EtcdServer::close);
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        int first = handles++;
        List<String> addresses = new ArrayList<>();
        for (int i = 0; i < SERVERS; i++) {
            addresses.add(members.get((first + i) % SERVERS).address());
        }
        return new EtcdLockStoreProvider().open("etcd://" + String.join(",", addresses) + "?session=10s", clock);
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
