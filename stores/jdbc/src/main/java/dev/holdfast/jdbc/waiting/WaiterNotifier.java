package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.spi.Released.Handed;
import java.util.List;

/** A push through the database that tells waiters in other processes to look. A hint: who misses it polls. */
public interface WaiterNotifier extends AutoCloseable {

    /** For databases that cannot push, and users who do not want it. */
    WaiterNotifier NONE = new WaiterNotifier() {
        @Override
        public void announce(List<Handed> granted, SerialConnection work) {}

        @Override
        public void listen(WaiterRegistry waiting, WaitPoller poller) {}

        @Override
        public void close() {}
    };

    /** Tells whoever has these claims that they are granted. Called only when there are any, after the grant is in the rows. */
    void announce(List<Handed> granted, SerialConnection work);

    /** Claims wait here from now on. */
    void listen(WaiterRegistry waiting, WaitPoller poller);

    @Override
    void close();
}
