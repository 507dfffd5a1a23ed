package dev.holdfast.testkit.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PortsTest {

    /** So many that each process comes across ports of its own again and again. */
    private static final int MANY = 1_000;

    /** Reserves many, says so, and stays until it is ended. */
    static final class Neighbour {
        public static void main(String[] arguments) throws IOException {
            StringBuilder ports = new StringBuilder("ports");
            for (int i = 0; i < MANY; i++) {
                ports.append(' ').append(Ports.reserve());
            }
            System.out.println(ports);
            System.in.read();
        }
    }

    @Test
    void noTwoProcessesHaveTheSamePortThoughNobodyListensYet() throws IOException {
        try (ChildJvm neighbour = ChildJvm.start(Neighbour.class)) {
            Set<String> all = new HashSet<>(
                    Set.of(neighbour.expect("ports", Duration.ofSeconds(60)).split(" ")));
            assertThat(all).hasSize(MANY);
            for (int i = 0; i < MANY; i++) {
                int port = Ports.reserve();
                assertThat(all.add(Integer.toString(port))).as("port %d", port).isTrue();
                new ServerSocket(port, 1, InetAddress.getLoopbackAddress()).close();
            }
        }
    }
}
