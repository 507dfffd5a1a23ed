package dev.holdfast.zookeeper;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** What a server on this machine says of itself. Its settings must allow the word {@code srvr}. */
final class ServerStatus {

    private static final int PATIENCE_MILLIS = 300;
    private static final String MODE = "Mode: ";

    private ServerStatus() {}

    /** What it is, such as "leader" or "standalone"; empty if it does not serve clients now. */
    static String mode(int port) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), PATIENCE_MILLIS);
            socket.setSoTimeout(PATIENCE_MILLIS);
            socket.getOutputStream().write("srvr".getBytes(StandardCharsets.US_ASCII));
            socket.getOutputStream().flush();
            String text = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            return text.lines()
                    .filter(line -> line.startsWith(MODE))
                    .map(line -> line.substring(MODE.length()))
                    .findFirst()
                    .orElse("");
        } catch (IOException notThere) {
            return "";
        }
    }
}
