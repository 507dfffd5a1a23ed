package dev.holdfast.zookeeper;

import dev.holdfast.testkit.process.Ports;
import java.io.Closeable;
import java.io.IOException;
import java.util.Map;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingServer;

/**
 * A ZooKeeper server on a free port, with its data in a temporary directory: in this JVM or, if it is of another version than
 * that of the tests, in one of its own.
 */
public final class OneServer implements AutoCloseable {

    static final int TICK_MILLIS = 500;

    /** Some tests need a session that is long beside everything else. */
    private static final Map<String, Object> LONG_SESSIONS = Map.of("maxSessionTimeout", "60000");

    private final Closeable server;
    private final int port;

    // The tests need no data that survives a crash of the machine, and disk syncs would take most of their time.
    OneServer() {
        try {
            if (ServerProgram.isOfAnotherVersion()) {
                ConfiguredServer other = ConfiguredServer.of(LONG_SESSIONS);
                server = other::close;
                port = other.port();
            } else {
                System.setProperty("zookeeper.forceSync", "no");
                System.setProperty("zookeeper.4lw.commands.whitelist", "srvr,wchs");
                port = Ports.reserve();
                server = new TestingServer(
                        new InstanceSpec(null, port, -1, -1, true, -1, TICK_MILLIS, 1_000, LONG_SESSIONS, "127.0.0.1"),
                        true);
            }
        } catch (Exception failure) {
            throw new AssertionError("ZooKeeper's test server could not be started", failure);
        }
    }

    public String hosts() {
        return "127.0.0.1:" + port;
    }

    int port() {
        return port;
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException failure) {
            throw new AssertionError("ZooKeeper's test server could not be stopped", failure);
        }
    }
}
