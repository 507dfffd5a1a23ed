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

    /** The number of ports is so large that each process comes across its own ports again and again. */
    private static final int MANY = 1_000;

    /** Reserves many ports, prints them, and runs until its input is closed or it is killed. */
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
