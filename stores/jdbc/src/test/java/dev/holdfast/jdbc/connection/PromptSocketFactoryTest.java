package dev.holdfast.jdbc.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.connection.PromptSocketFactory.PromptStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import org.junit.jupiter.api.Test;

/** The driver looks for another notification by a read of a millisecond. All other reads are as on any socket. */
class PromptSocketFactoryTest {

    @Test
    void lookForWhatIsNotThereDoesNotWait() {
        InputStream empty = new InputStream() {
            @Override
            public int read() {
                throw new AssertionError("This would wait");
            }
        };
        PromptStream stream = new PromptStream(empty, () -> 1);
        assertThatThrownBy(stream::read).isInstanceOf(SocketTimeoutException.class);
        assertThatThrownBy(() -> stream.read(new byte[1], 0, 1)).isInstanceOf(SocketTimeoutException.class);
    }

    @Test
    void whatIsThereIsRead() throws IOException {
        PromptStream look = new PromptStream(new ByteArrayInputStream(new byte[] {5, 6}), () -> 1);
        assertThat(look.read()).isEqualTo(5);
        assertThat(look.read(new byte[2], 0, 2)).isEqualTo(1);
        PromptStream wait = new PromptStream(new ByteArrayInputStream(new byte[0]), () -> 3_000);
        assertThat(wait.read()).isEqualTo(-1);
    }

    @Test
    void socketKnowsItsTimeout() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket socket = new PromptSocketFactory().createSocket(server.getInetAddress(), server.getLocalPort());
                Socket peer = server.accept()) {
            socket.setSoTimeout(1);
            InputStream in = socket.getInputStream();
            assertThatThrownBy(in::read)
                    .isInstanceOf(SocketTimeoutException.class)
                    .hasMessage("Nothing is there yet");
            socket.setSoTimeout(0);
            peer.getOutputStream().write(7);
            assertThat(in.read()).isEqualTo(7);
        }
    }
}
