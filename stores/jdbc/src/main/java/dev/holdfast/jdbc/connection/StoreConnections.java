package dev.holdfast.jdbc.connection;

import dev.holdfast.jdbc.connection.ConnectionSource.Use;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** All connections of a store, for what concerns each of them. Thread-safe. */
public final class StoreConnections implements AutoCloseable {

    private final ConnectionSource source;
    private final Dialect dialect;
    private final Duration ticketTtl;
    private final Duration limit;
    private final MonotonicClock clock;
    private final List<SerialConnection> all = new ArrayList<>();

    /** @param limit how long a call may take, with its wait for the connection */
    public StoreConnections(
            ConnectionSource source, Dialect dialect, Duration ticketTtl, Duration limit, MonotonicClock clock) {
        this.source = source;
        this.dialect = dialect;
        this.ticketTtl = ticketTtl;
        this.limit = limit;
        this.clock = clock;
    }

    /** One more, which is opened when it is used. */
    public SerialConnection another() {
        return make(source.use());
    }

    /** One more, for what may wait a moment longer: nothing is kept for it between two calls, except where everybody keeps all. */
    public SerialConnection anotherForNow() {
        return make(source.use() == Use.FOR_EVER ? Use.FOR_EVER : Use.FOR_A_CALL);
    }

    private synchronized SerialConnection make(Use use) {
        SerialConnection made = new SerialConnection(source, use, dialect, ticketTtl, limit, clock);
        all.add(made);
        return made;
    }

    /** Gives those back which nobody has used for a while, so that a server need not keep them. */
    public synchronized void giveBackUnused() {
        all.forEach(SerialConnection::giveBackIfUnused);
    }

    @Override
    public synchronized void close() {
        try {
            all.forEach(SerialConnection::close);
        } finally {
            source.close();
        }
    }
}
