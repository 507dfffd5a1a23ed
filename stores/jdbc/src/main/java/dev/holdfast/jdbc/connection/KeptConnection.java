package dev.holdfast.jdbc.connection;

import dev.holdfast.jdbc.connection.ConnectionSource.Use;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The connection of a {@link SerialConnection}, from when it is opened until it is given up. Not thread-safe: that one guards it.
 *
 * <p>A connection of the store's own pool is kept from call to call, with its prepared statements: to borrow it anew each time
 * would cost a message to the server and back whenever it has been idle for half a second, as before each renewal. One that nobody
 * has used for {@link #UNUSED} is checked before it is used, since a firewall or the server may have dropped it; so are all others
 * when one breaks. After a failure it is closed, unless that is one of those which clients meet that come together. If one leads to a
 * server that is not the primary, none that was opened before is used again. The first call after a restart of the server may fail,
 * and have no known outcome; it is repeated as any other.
 */
final class KeptConnection {

    /**
     * How long nobody has used a connection that is checked before its next use, and goes back to the pool. Renewals of a lease of
     * the usual length come more often, and so do polls; nothing in between drops a connection so soon.
     */
    static final Duration UNUSED = Duration.ofSeconds(20);

    private final ConnectionSource source;
    private final Use use;
    private final Dialect dialect;
    private final Duration ticketTtl;
    private final int checkSeconds;
    private final MonotonicClock clock;

    private @Nullable LockTable table;
    /** When the table was used last. */
    private long used;
    /** How often all connections of the source had been discarded when this one was opened. */
    private int discardsBefore;
    /** How often a connection of the source had broken when this one was opened, or was checked. */
    private int breaksBefore;

    /** @param limit how long a call may take; a check, half of that */
    KeptConnection(
            ConnectionSource source,
            Use use,
            Dialect dialect,
            Duration ticketTtl,
            Duration limit,
            MonotonicClock clock) {
        this.source = source;
        this.use = use;
        this.dialect = dialect;
        this.ticketTtl = ticketTtl;
        this.checkSeconds = Math.max(1, (int) limit.dividedBy(2).toSeconds());
        this.clock = clock;
    }

    boolean isOpen() {
        return table != null;
    }

    /** The table on a connection that works, as far as is known. {@link #endCall} must follow. */
    LockTable open() throws SQLException {
        dropIfUseless();
        LockTable open = table;
        if (open == null) {
            discardsBefore = source.discards();
            breaksBefore = source.breaks();
            open = new LockTable(connect(), dialect, ticketTtl, use != Use.FOR_A_CALL, clock);
            table = open;
        }
        return open;
    }

    // One that comes from the pool was checked there.
    private void dropIfUseless() {
        LockTable kept = table;
        if (kept == null || use != Use.WHILE_BUSY) {
            return;
        }
        int breaks = source.breaks();
        if (source.discards() != discardsBefore) {
            giveBack(); // the pool knows that it is to be closed
        } else if (breaks != breaksBefore || isUnused()) {
            if (!works(kept.statements().connection())) {
                drop(Condition.USELESS);
            }
            breaksBefore = breaks;
        }
    }

    private boolean isUnused() {
        return clock.nanoTime() - used > UNUSED.toNanos();
    }

    private boolean works(Connection connection) {
        try {
            return connection.isValid(checkSeconds);
        } catch (SQLException | RuntimeException | Error closed) {
            return false;
        }
    }

    private static boolean isClosed(Connection connection) {
        try {
            return connection.isClosed();
        } catch (SQLException | RuntimeException | Error unknown) {
            return true;
        }
    }

    // A failure to get a connection has no effect, whatever its cause, because nothing was sent.
    private Connection connect() throws SQLException {
        try {
            return source.open();
        } catch (SQLException failure) {
            StoreException translated = dialect.failure(failure);
            throw translated.effect() == Effect.NONE
                    ? translated
                    : StoreException.unavailable(Effect.NONE, String.valueOf(translated.getMessage()), failure);
        }
    }

    /** What a call has left a connection in. */
    private enum Condition {
        GOOD,
        /** It must not be used again. */
        USELESS,
        /** It is closed: perhaps its server has gone. */
        BROKEN,
        /** It leads to a server that is not wanted. */
        ELSEWHERE
    }

    /** @param failed the failure of the database or the driver, or the error, that has ended the call; else null */
    void endCall(@Nullable Throwable failed) {
        LockTable open = table;
        if (open == null) {
            return;
        }
        used = clock.nanoTime();
        Condition condition = condition(open.statements(), failed);
        if (condition != Condition.GOOD || use == Use.FOR_A_CALL) {
            drop(condition);
        }
    }

    private Condition condition(LockStatements statements, @Nullable Throwable failed) {
        boolean isClosed = source.use() == Use.WHILE_BUSY && isClosed(statements.connection());
        Condition left;
        if (failed == null) {
            // A pool closes a connection whose transaction could not be rolled back.
            left = isClosed ? Condition.BROKEN : Condition.GOOD;
        } else if (failed instanceof SQLException failure) {
            left = conditionAfter(failure, isClosed);
        } else {
            left = isClosed ? Condition.BROKEN : Condition.USELESS; // an answer may be half read
        }
        return left == Condition.GOOD && statements.isSpoiled() ? Condition.USELESS : left;
    }

    // What clients meet that come together says nothing about the connection. After any other failure our pool would
    // lend it again without a check.
    private Condition conditionAfter(SQLException failure, boolean isClosed) {
        if (dialect.breaksConnection(failure)) {
            return Condition.ELSEWHERE;
        }
        boolean isUsual = source.use() != Use.WHILE_BUSY || dialect.isRace(failure) || dialect.isLocked(failure);
        if (isClosed) {
            return isUsual ? Condition.USELESS : Condition.BROKEN;
        }
        return isUsual ? Condition.GOOD : Condition.USELESS;
    }

    /** Gives the connection back if it is that of a pool, and nobody has used it for {@link #UNUSED}. */
    void giveBackIfUnused() {
        if (use == Use.WHILE_BUSY && isUnused()) {
            giveBack();
        }
    }

    void giveBack() {
        drop(Condition.GOOD);
    }

    private void drop(Condition condition) {
        LockTable dropped = table;
        table = null;
        if (dropped != null) {
            try {
                end(dropped, condition);
            } catch (SQLException | RuntimeException | Error alreadyBroken) {
                // The outcome of the call is known by now, so a failure here adds nothing.
                return;
            }
        }
    }

    // A connection that is not given back, because its statements cannot be closed, is missing in its pool for ever.
    private void end(LockTable dropped, Condition condition) throws SQLException {
        Connection connection = dropped.statements().connection();
        switch (condition) {
            case GOOD -> {
                try {
                    dropped.closeStatements();
                } finally {
                    source.giveBack(connection);
                }
            }
            case USELESS -> source.discard(connection);
            case BROKEN -> {
                source.broke();
                source.discard(connection);
            }
            case ELSEWHERE -> source.discardAll(connection, discardsBefore);
        }
    }
}
