package dev.holdfast.etcd;

import dev.holdfast.testkit.ServerStoreTck;
import org.junit.jupiter.api.AutoClose;

/** The rules for every store, on a real server. */
class EtcdLockStoreTest extends ServerStoreTck {

    @AutoClose
    private static final EtcdServer SERVER = EtcdServer.start();

    EtcdLockStoreTest() {
        super(new EtcdLockStoreProvider(), SERVER.url() + "?session=10s");
    }
}
