package dev.holdfast.etcd;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The rules for every store, on a real server. */
class EtcdLockStoreTest extends LockStoreTck {

    private static EtcdServer server;

    @BeforeAll
    static void startTheServer() {
        server = EtcdServer.start();
    }

    @AfterAll
    static void stopTheServer() {
        server.close();
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new EtcdLockStoreProvider().open(server.url() + "?session=3s", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }
}
