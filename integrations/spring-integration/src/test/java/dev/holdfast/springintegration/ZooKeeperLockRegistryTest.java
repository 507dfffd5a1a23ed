package dev.holdfast.springintegration;

import java.io.IOException;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterAll;

class ZooKeeperLockRegistryTest extends RegistryScenarios {

    private static final TestingServer SERVER = started();

    ZooKeeperLockRegistryTest() {
        super("zookeeper://" + SERVER.getConnectString());
    }

    private static TestingServer started() {
        try {
            // What a crash of the machine would cost does not matter here.
            System.setProperty("zookeeper.forceSync", "no");
            return new TestingServer();
        } catch (Exception failure) {
            throw new AssertionError("ZooKeeper's test server could not be started", failure);
        }
    }

    @AfterAll
    static void stop() throws IOException {
        SERVER.close();
    }
}
