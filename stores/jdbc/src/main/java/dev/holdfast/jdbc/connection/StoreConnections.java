package dev.holdfast.jdbc.connection;

import dev.holdfast.jdbc.connection.ConnectionSource.Use;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** All connections of a store, for what concerns each of them. Thread-safe. */
public final class StoreConnections implements AutoCloseable {

    private final ConnectionSource source;
    private final Function<Use, SerialConnection> makes;
    private final List<SerialConnection> all = new ArrayList<>();

    /** @param makes makes one that is not open yet */
    public StoreConnections(ConnectionSource source, Function<Use, SerialConnection> makes) {
        this.source = source;
        this.makes = makes;
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
        SerialConnection made = makes.apply(use);
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
