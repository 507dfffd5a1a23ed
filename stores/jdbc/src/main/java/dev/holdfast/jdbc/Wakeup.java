package dev.holdfast.jdbc;

import dev.holdfast.spi.Released.Handed;
import java.util.List;

/** A push through the database that tells waiters in other processes to look. A hint: who misses it polls. */
interface Wakeup extends AutoCloseable {

    /** For databases that cannot push, and users who do not want it. */
    Wakeup NONE = new Wakeup() {
        @Override
        public void announce(List<Handed> granted, Lane work) {}

        @Override
        public void listen(WaitingClaims waiting, WaitPoller poller) {}

        @Override
        public void close() {}
    };

    /** Tells whoever has these claims that they are granted. Called only when there are any, after the grant is in the rows. */
    void announce(List<Handed> granted, Lane work);

    /** Claims wait here from now on. */
    void listen(WaitingClaims waiting, WaitPoller poller);

    @Override
    void close();
}
