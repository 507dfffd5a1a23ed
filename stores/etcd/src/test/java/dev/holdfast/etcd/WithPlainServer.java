package dev.holdfast.etcd;

import org.junit.jupiter.api.BeforeAll;

/** The server of these tests has neither users nor certificates. */
abstract class WithPlainServer extends WithServer {

    @BeforeAll
    static void startTheServer() {
        server = EtcdServer.start();
    }
}
