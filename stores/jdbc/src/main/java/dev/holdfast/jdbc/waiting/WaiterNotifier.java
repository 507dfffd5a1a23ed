package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.spi.ClaimId;
import java.util.List;

/**
 * Notifies waiters in other processes through the database. A notification is a hint: it may be lost, and then a poll or the
 * refresh of the ticket finds what happened. A grant is believed from the row that was read.
 */
public interface WaiterNotifier extends AutoCloseable {

    /** Does nothing: for databases that cannot push, and for users who do not want it. */
    WaiterNotifier NONE = new WaiterNotifier() {
        @Override
        public void check(SerialConnection work) {}

        @Override
        public void notifyWaiters(List<ClaimId> claims, SerialConnection work) {}

        @Override
        public void listen(ClaimId claim, WaiterRegistry waiters, WaitPoller poller) {}

        @Override
        public boolean isListening() {
            return false;
        }

        @Override
        public void close() {}
    };

    /** Finds out whether notifications reach this client. Called once, before all others. */
    void check(SerialConnection work);

    /**
     * Notifies the clients whose waiting claims were granted, or released by another client. Called after that was committed, with
     * at least one claim.
     */
    void notifyWaiters(List<ClaimId> claims, SerialConnection work);

    /**
     * Listens for notifications as long as claims wait in this client, if they reach it. Called after a claim has begun to wait, so
     * that those for its client arrive.
     */
    void listen(ClaimId claim, WaiterRegistry waiters, WaitPoller poller);

    /** Whether notifications reach this client now, as far as it knows. */
    boolean isListening();

    @Override
    void close();
}
