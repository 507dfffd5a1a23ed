package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.spi.LockName;
import java.util.Collection;

/**
 * When the rows of the names are read that claims of this client wait for. Used by one thread only, unless a method says otherwise.
 *
 * <p>The position of a claim is the number of releases that come before it is granted, at the least; see {@link Turns}.
 */
interface PollSchedule {

    /** How long after it was enqueued a claim in this position is looked for at the latest. Any thread may ask. */
    long firstNanos(int position);

    /** A claim was enqueued. */
    void enqueued(LockName name, int position, long now);

    /** The names whose rows are to be read now. */
    Collection<LockName> due(SerialConnection connection, long now);

    /** Whether the heads of the rows that are due are read before the rows: they show what matters most, and cost less. */
    default boolean readsHeads() {
        return false;
    }

    /** Whether the row of a name that is due is read with its queue. Otherwise its head is enough for now. */
    default boolean wantsQueue(LockName name, long now) {
        return true;
    }

    /**
     * The row of a name that was due was read.
     *
     * @param position that of the first claim of this client that waits for it; negative if there is none
     * @param granted whether a claim of this client was found to be granted
     */
    void read(LockName name, int position, boolean granted, long now);

    /** The row of a name that was due was not changed since it was read before. */
    void unchanged(LockName name, long now);

    /** A claim of this client was released so long after the start of the poll that found it to be granted. */
    void held(LockName name, long nanos);

    /** All names are due, because changes may have been missed. */
    void allAreDue();

    /** How long to pause before it is asked again what is due. */
    long pauseNanos(long now);
}
