package dev.holdfast.jdbc.connection;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.function.IntSupplier;
import javax.net.SocketFactory;
import org.jspecify.annotations.Nullable;

/**
 * Sockets for PostgreSQL's driver, which finds this class by its name. After each notification the driver reads once more, with a
 * time-out of a millisecond, in case that there is another one: so each waiter would be notified a millisecond late. On these
 * sockets such a read ends at once if nothing is there.
 */
public final class PromptSocketFactory extends SocketFactory {

    /** The time-out by which such a read is known. All others are of a second at least. */
    private static final int LOOK_MILLIS = 1;

    /** Whether the driver finds this class: it may be of another class loader, which knows nothing of Holdfast. */
    static boolean isVisibleToDriver() {
        try {
            ClassLoader ours = PromptSocketFactory.class.getClassLoader();
            ClassLoader driver =
                    Class.forName("org.postgresql.Driver", false, ours).getClassLoader();
            return Class.forName(PromptSocketFactory.class.getName(), false, driver) == PromptSocketFactory.class;
        } catch (ClassNotFoundException | LinkageError hidden) {
            return false;
        }
    }

    @Override
    public Socket createSocket() {
        return new PromptSocket();
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return connected(new InetSocketAddress(host, port), null);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress from, int fromPort) throws IOException {
        return connected(new InetSocketAddress(host, port), new InetSocketAddress(from, fromPort));
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return connected(new InetSocketAddress(host, port), null);
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress from, int fromPort) throws IOException {
        return connected(new InetSocketAddress(host, port), new InetSocketAddress(from, fromPort));
    }

    private Socket connected(InetSocketAddress to, @Nullable InetSocketAddress from) throws IOException {
        Socket socket = createSocket();
        try {
            socket.bind(from);
            socket.connect(to);
            return socket;
        } catch (IOException failure) {
            socket.close();
            throw failure;
        }
    }

    private static final class PromptSocket extends Socket {

        private volatile int timeout;

        @Override
        public synchronized void setSoTimeout(int millis) throws SocketException {
            super.setSoTimeout(millis);
            timeout = millis;
        }

        @Override
        public InputStream getInputStream() throws IOException {
            return new PromptStream(super.getInputStream(), () -> timeout);
        }
    }

    /** Reads that do not wait if the time-out is that of a look. */
    static final class PromptStream extends FilterInputStream {

        private final IntSupplier timeout;

        PromptStream(InputStream in, IntSupplier timeout) {
            super(in);
            this.timeout = timeout;
        }

        @Override
        public int read() throws IOException {
            requireSome();
            return in.read();
        }

        @Override
        public int read(byte[] bytes, int from, int length) throws IOException {
            requireSome();
            return in.read(bytes, from, length);
        }

        private void requireSome() throws IOException {
            if (timeout.getAsInt() == LOOK_MILLIS && in.available() == 0) {
                throw new SocketTimeoutException("Nothing is there yet");
            }
        }
    }
}
