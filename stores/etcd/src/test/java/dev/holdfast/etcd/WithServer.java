package dev.holdfast.etcd;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import org.junit.jupiter.api.AfterAll;

/** Base class of tests that open stores on a server of their own, which they start before all tests of the class. */
abstract class WithServer extends StoreTest {

    /** One class runs at a time in a JVM. */
    static EtcdServer server;

    @AfterAll
    static void stopTheServer() {
        server.close();
    }

    LockStore open(String options) {
        return openUrl(server.url() + options);
    }

    LockStore openUrl(String url) {
        return closing(new EtcdLockStoreProvider().open(url, MonotonicClock.SYSTEM));
    }

    /** Revokes the lease that a claim's key is attached to, as if the client had died. */
    void revokeLeaseOf(Claim claim) {
        server.revokeLeaseOf(claim);
    }
}
