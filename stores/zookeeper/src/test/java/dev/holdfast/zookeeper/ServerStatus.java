package dev.holdfast.zookeeper;

import dev.holdfast.testkit.StoreTest;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicReference;

/** What a server on this machine says of itself. Its settings must allow the words {@code srvr} and {@code wchs}. */
final class ServerStatus {

    private static final int PATIENCE_MILLIS = 300;
    private static final String MODE = "Mode:";
    private static final String WATCHES = "Total watches:";

    private ServerStatus() {}

    /** What it is, such as "leader" or "standalone"; empty if it does not serve clients now. */
    static String mode(int port) {
        return mode("127.0.0.1", port);
    }

    /** The same of a server that has another address of this machine's. */
    static String mode(String host, int port) {
        return value(host, port, "srvr", MODE);
    }

    /** How many watches of clients it has. */
    static int watches(int port) {
        AtomicReference<String> number = new AtomicReference<>("");
        StoreTest.awaitUntil(() -> {
            number.set(value("127.0.0.1", port, "wchs", WATCHES));
            return !number.get().isEmpty();
        });
        return Integer.parseInt(number.get());
    }

    private static String value(String host, int port, String word, String label) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(host, port), PATIENCE_MILLIS);
            socket.setSoTimeout(PATIENCE_MILLIS);
            socket.getOutputStream().write(word.getBytes(StandardCharsets.US_ASCII));
            socket.getOutputStream().flush();
            String text = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            return text.lines()
                    .filter(line -> line.startsWith(label))
                    .map(line -> line.substring(label.length()).strip())
                    .findFirst()
                    .orElse("");
        } catch (IOException notThere) {
            return "";
        }
    }
}
