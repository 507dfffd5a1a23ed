package dev.holdfast.testkit.process;

import dev.holdfast.testkit.process.FaultProxy.Fate;
import dev.holdfast.testkit.process.FaultProxy.Way;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A connection through a {@link FaultProxy}: two sockets, and a lane in each direction. A lane has one thread that reads, so that no
 * sender is ever slowed down, and one that writes what is due.
 */
final class ProxiedConnection {

    private final FaultProxy proxy;
    private final Socket client;
    private volatile boolean losesReplies;

    // All below is guarded by this object.
    private @Nullable Socket server;
    private boolean ended;
    private boolean isAnswered = true;
    private int trips;

    ProxiedConnection(FaultProxy proxy, Socket client) {
        this.proxy = proxy;
        this.client = client;
    }

    void connect() throws InterruptedException {
        try {
            client.setTcpNoDelay(true);
            Socket there = proxy.connected();
            there.setTcpNoDelay(true);
            begin(there);
        } catch (IOException refused) {
            end();
        }
    }

    private synchronized void begin(Socket there) {
        server = there;
        if (ended) {
            close(there);
            return;
        }
        new Lane(Way.TO_SERVER, client, there).start();
        new Lane(Way.TO_CLIENT, there, client).start();
    }

    synchronized void end() {
        ended = true;
        close(client);
        if (server != null) {
            close(server);
        }
        proxy.over(this);
    }

    synchronized void endClient() {
        close(client);
    }

    private synchronized void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        if (client.isClosed() && server != null && server.isClosed()) {
            proxy.over(this);
        }
    }

    private Fate fate(Way way, boolean isFirst, byte[] message) {
        count(way);
        return proxy.fate(way, isFirst, message);
    }

    // Replies are counted before they are passed on, so that the request that follows is counted later.
    private synchronized void count(Way way) {
        if (way == Way.TO_SERVER && isAnswered) {
            proxy.count(++trips);
        }
        isAnswered = way == Way.TO_CLIENT;
    }

    /**
     * Something on its way.
     *
     * @param fate null if it is the news that the sender has closed the connection
     */
    private record Piece(long due, @Nullable Supplier<Fate> fate) {}

    private final class Lane {

        private final Way way;
        private final Socket from;
        private final Socket to;
        private final BlockingQueue<Piece> pieces = new LinkedBlockingQueue<>();

        Lane(Way way, Socket from, Socket to) {
            this.way = way;
            this.from = from;
            this.to = to;
        }

        void start() {
            FaultProxy.start(this::read);
            FaultProxy.start(this::write);
        }

        private void read() {
            try {
                InputStream in = new BufferedInputStream(from.getInputStream());
                boolean isFirst = true;
                while (take(proxy.next(in, way), isFirst)) {
                    isFirst = false;
                }
            } catch (IOException closed) {
                close(from);
                pieces.add(new Piece(proxy.due(), null));
            }
        }

        /** Returns whether more is to be read. */
        private boolean take(byte[] message, boolean isFirst) {
            if (way == Way.TO_CLIENT) {
                pieces.add(new Piece(proxy.due(), () -> fate(way, isFirst, message)));
                return true;
            }
            Fate fate = fate(way, isFirst, message);
            if (fate.then() == Fate.Then.LOST_REPLIES) {
                losesReplies = true;
            }
            pieces.add(new Piece(proxy.due(), () -> fate));
            return fate.then() == Fate.Then.MORE;
        }

        private void write() throws IOException, InterruptedException {
            OutputStream out = to.getOutputStream();
            Fate.Then then = Fate.Then.MORE;
            while (then == Fate.Then.MORE) {
                Piece piece = pieces.take();
                awaitDue(piece);
                proxy.awaitPassage(way);
                Supplier<Fate> decision = piece.fate();
                if (decision == null) {
                    close(to);
                    return;
                }
                if (way == Way.TO_SERVER || !losesReplies) {
                    Fate fate = decision.get();
                    out.write(fate.bytes());
                    then = fate.then();
                }
            }
            if (then == Fate.Then.END) {
                end();
            } else {
                // The server executes what it was sent, and then closes its side; that ends the connection of the
                // client.
                to.shutdownOutput();
            }
        }

        private static void awaitDue(Piece piece) {
            for (long left = piece.due() - System.nanoTime(); left > 0; left = piece.due() - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }
    }
}
