package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.spi.Released.Handed;
import java.util.List;

/**
 * Notifies waiters in other processes through the database. A notification may be lost; the next poll finds the
 * grant.
 */
public interface WaiterNotifier extends AutoCloseable {

    /** Does nothing: for databases that cannot push, and for users who do not want it. */
    WaiterNotifier NONE = new WaiterNotifier() {
        @Override
        public void notifyGranted(List<Handed> granted, SerialConnection work) {}

        @Override
        public void listen(WaiterRegistry waiters, WaitPoller poller) {}

        @Override
        public void close() {}
    };

    /**
     * Notifies the clients whose claims were granted. Called after the grants were committed, with at least one
     * claim.
     */
    void notifyGranted(List<Handed> granted, SerialConnection work);

    /** Listens for notifications as long as claims wait in this client. */
    void listen(WaiterRegistry waiters, WaitPoller poller);

    @Override
    void close();
}
