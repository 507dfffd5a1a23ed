package dev.holdfast.jdbc.connection;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** All connections of a store, for what concerns each of them. Thread-safe. */
public final class StoreConnections implements AutoCloseable {

    private final ConnectionSource source;
    private final Supplier<SerialConnection> makes;
    private final List<SerialConnection> all = new ArrayList<>();

    /** @param makes makes one that is not open yet */
    public StoreConnections(ConnectionSource source, Supplier<SerialConnection> makes) {
        this.source = source;
        this.makes = makes;
    }

    /** One more, which is opened when it is used. */
    public synchronized SerialConnection another() {
        SerialConnection made = makes.get();
        all.add(made);
        return made;
    }

    /** Gives those back which nobody has used for a while, so that a server need not keep them. */
    public synchronized void giveBackUnused() {
        all.forEach(SerialConnection::giveBackIfUnused);
    }

    @Override
    public synchronized void close() {
        all.forEach(SerialConnection::close);
        source.close();
    }
}
