package dev.holdfast.fence.jdbc;

import dev.holdfast.fence.jdbc.VersionedTable.Change;
import dev.holdfast.fence.jdbc.VersionedTable.Outcome;
import dev.holdfast.spi.MonotonicClock;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Changes rows without a lock: reads, computes, and writes only if nobody else wrote meanwhile. Otherwise it starts
 * again after a short random pause, for a limited number of attempts and a limited time.
 *
 * <pre>{@code
 * VersionedTable stock = VersionedTable.of("stock", "sku").byVersion("version");
 * OptimisticUpdate updates = OptimisticUpdate.over(dataSource);
 *
 * boolean sold = updates.update(stock.row(sku), now ->
 *         now.getInt("quantity") > 0 ? Map.of("quantity", now.getInt("quantity") - 1) : Map.of());
 * }</pre>
 *
 * <p>An update of several tables runs in one transaction for each attempt:
 *
 * <pre>{@code
 * long order = updates.run(connection -> {
 *     if (stock.row(sku).tryUpdate(connection, takeOne) == Outcome.CONFLICT) {
 *         return Optional.empty();                              // again, in a new transaction
 *     }
 *     return Optional.of(insertOrder(connection, sku));
 * });
 * }</pre>
 *
 * <p>Use it where a row is protected, the work between read and write is short, and writers seldom conflict. Where
 * they often do, or the work has effects elsewhere, take a lock.
 *
 * <p><b>Guarantee.</b> As {@link VersionedTable} says; and when an {@link UpdateConflictException} is thrown,
 * nothing was written. <b>Not guaranteed</b>: order or fairness among conflicting writers; and if the connection
 * breaks during a commit, whether it took place: that {@link SQLException} is thrown unchanged and nothing is
 * repeated.
 *
 * <p>Immutable; thread-safe if it is over a data source.
 */
public final class OptimisticUpdate {

    /** The default limit of attempts. */
    private static final int ATTEMPTS = 100;
    /** The default limit of time. */
    private static final Duration TIME = Duration.ofSeconds(10);
    /** The limit of a pause grows from twice this value, and doubles with each attempt. */
    private static final long SHORTEST_PAUSE_NANOS = 500_000;
    /** The longest pause between two attempts. */
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final @Nullable DataSource source;
    private final @Nullable Connection given;
    private final int attempts;
    private final Duration time;
    private final MonotonicClock clock;

    private OptimisticUpdate(
            @Nullable DataSource source,
            @Nullable Connection given,
            int attempts,
            Duration time,
            MonotonicClock clock) {
        this.source = source;
        this.given = given;
        this.attempts = attempts;
        this.time = time;
        this.clock = clock;
    }

    /**
     * Updates in transactions of their own, on a connection that is borrowed for each attempt, so that none is kept during
     * a pause. At most 100 attempts in 10 s.
     *
     * @param source a source of separate connections. It must not return the connection of a transaction that is
     *     open already (as Spring's TransactionAwareDataSourceProxy does), because that transaction would be
     *     committed
     */
    public static OptimisticUpdate over(DataSource source) {
        return new OptimisticUpdate(
                Objects.requireNonNull(source, "source"), null, ATTEMPTS, TIME, MonotonicClock.SYSTEM);
    }

    /**
     * Updates on one connection. In autocommit mode, it is as with a data source. In a transaction of the caller's, which
     * this then neither commits nor rolls back, only {@link #update} can be used, and only below REPEATABLE READ.
     */
    public static OptimisticUpdate over(Connection connection) {
        return new OptimisticUpdate(
                null, Objects.requireNonNull(connection, "connection"), ATTEMPTS, TIME, MonotonicClock.SYSTEM);
    }

    /**
     * The same with another limit of attempts.
     *
     * @throws IllegalArgumentException if it is less than one
     */
    public OptimisticUpdate attempts(int most) {
        if (most < 1) {
            throw new IllegalArgumentException("There must be at least one attempt, not " + most);
        }
        return new OptimisticUpdate(source, given, most, time, clock);
    }

    /**
     * The same with another limit of time, after which no attempt is begun; the first is begun in any case.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public OptimisticUpdate within(Duration most) {
        if (most.isNegative()) {
            throw new IllegalArgumentException("The time must not be negative, but was " + most);
        }
        return new OptimisticUpdate(source, given, attempts, most, clock);
    }

    /** The same with another clock, which is also used for the pauses; for tests. */
    public OptimisticUpdate clock(MonotonicClock other) {
        return new OptimisticUpdate(source, given, attempts, time, other);
    }

    /** One attempt, in a transaction of its own. */
    @FunctionalInterface
    public interface Attempt<T> {

        /**
         * Reads, computes and writes. It neither commits nor rolls back.
         *
         * @return the result, to be committed; empty if another was first, to be rolled back and tried again
         */
        Optional<T> on(Connection connection) throws SQLException;
    }

    /**
     * Changes a row.
     *
     * @return whether it was written; false if the change was empty
     * @throws UpdateConflictException if others were first at every attempt, or the thread was interrupted between two
     * @throws IllegalStateException if the connection is in a transaction at REPEATABLE READ or above, in which a retry
     *     could never see what the others wrote
     * @throws java.util.NoSuchElementException if there is no such row
     * @throws IllegalArgumentException if the change is not one of the table's
     * @throws SQLException a failure of the database, except for errors which mean that others were first
     */
    public boolean update(VersionedTable.Row row, Change change) throws SQLException {
        Attempt<Boolean> attempt = connection -> {
            Outcome outcome = row.tryUpdate(connection, change);
            return outcome == Outcome.CONFLICT ? Optional.empty() : Optional.of(outcome == Outcome.WRITTEN);
        };
        return repeat(attempt, row.toString(), false);
    }

    /**
     * Runs attempts, each in a new transaction at the connection's isolation level, until one has a result. Attempts that
     * fail by a serialization failure, a deadlock or a lock time-out are repeated, too.
     *
     * @throws UpdateConflictException if no attempt had a result, or the thread was interrupted between two
     * @throws IllegalStateException if this is over a connection that is in a transaction
     * @throws SQLException a failure of the database or of the attempt
     */
    public <T> T run(Attempt<T> attempt) throws SQLException {
        return repeat(attempt, "what is updated", true);
    }

    private <T> T repeat(Attempt<T> attempt, String what, boolean inTransaction) throws SQLException {
        long start = clock.nanoTime();
        for (int count = 1; ; count++) {
            Tried<T> tried = once(attempt, inTransaction);
            T result = tried.result();
            if (result != null) {
                return result;
            }
            Duration taken = Duration.ofNanos(clock.nanoTime() - start);
            if (count >= attempts || taken.compareTo(time) >= 0) {
                throw new UpdateConflictException(
                        "Others were first to change " + what + " at each of " + count + " attempts in "
                                + taken.toMillis() + " ms. Nothing was written. Try again later, allow more with"
                                + " attempts(..) and within(..), or take a lock for what so many want at once",
                        count,
                        tried.conflict());
            }
            pause(count);
            if (Thread.currentThread().isInterrupted()) {
                throw new UpdateConflictException(
                        "The thread was interrupted after " + count + " attempts to change " + what
                                + ". Nothing was written",
                        count,
                        tried.conflict());
            }
        }
    }

    /** The result of one attempt; null if another was first, perhaps with the error that reported this. */
    private record Tried<T>(@Nullable T result, @Nullable SQLException conflict) {}

    private <T> Tried<T> once(Attempt<T> attempt, boolean inTransaction) throws SQLException {
        if (given != null) {
            return given.getAutoCommit()
                    ? onOwn(given, attempt, inTransaction)
                    : onOpenTransaction(given, attempt, inTransaction);
        }
        if (source == null) {
            throw new IllegalStateException("There is neither a connection nor a data source");
        }
        try (Connection borrowed = source.getConnection()) {
            return onOwn(borrowed, attempt, inTransaction);
        }
    }

    private static <T> Tried<T> onOpenTransaction(Connection connection, Attempt<T> attempt, boolean inTransaction)
            throws SQLException {
        if (inTransaction) {
            throw new IllegalStateException(
                    "The connection is in a transaction, which cannot be begun anew from inside."
                            + " Give a data source, or a connection in autocommit mode");
        }
        int isolation = connection.getTransactionIsolation();
        if (isolation > Connection.TRANSACTION_READ_COMMITTED) {
            throw new IllegalStateException("The connection is in a transaction at isolation level " + name(isolation)
                    + ", in which a second attempt could never see what others wrote since the first. Give a data source"
                    + " or a connection in autocommit mode, so that each attempt is a new transaction, or use READ"
                    + " COMMITTED");
        }
        return new Tried<>(attempt.on(connection).orElse(null), null);
    }

    // A pooled connection that is not in autocommit mode has a transaction too, but no one else works in it.
    private <T> Tried<T> onOwn(Connection connection, Attempt<T> attempt, boolean inTransaction) throws SQLException {
        boolean autocommit = connection.getAutoCommit();
        SqlProduct product = SqlProduct.of(connection);
        try {
            if (autocommit && !inTransaction) {
                return new Tried<>(attempt.on(connection).orElse(null), null);
            }
            return committed(connection, attempt, autocommit);
        } catch (SQLException failure) {
            if (product.isConflict(failure)) {
                return new Tried<>(null, failure);
            }
            throw failure;
        }
    }

    private static <T> Tried<T> committed(Connection connection, Attempt<T> attempt, boolean autocommit)
            throws SQLException {
        if (autocommit) {
            connection.setAutoCommit(false);
        }
        T result;
        try {
            result = attempt.on(connection).orElse(null);
            if (result == null) {
                connection.rollback();
            } else {
                connection.commit();
            }
        } catch (SQLException | RuntimeException | Error failure) {
            // A failure of the rollback must not hide the first failure.
            try {
                end(connection, autocommit);
            } catch (SQLException broken) {
                failure.addSuppressed(broken);
            }
            throw failure;
        }
        if (autocommit) {
            connection.setAutoCommit(true);
        }
        return new Tried<>(result, null);
    }

    private static void end(Connection connection, boolean autocommit) throws SQLException {
        try {
            connection.rollback();
        } finally {
            if (autocommit) {
                connection.setAutoCommit(true);
            }
        }
    }

    private static String name(int isolation) {
        return switch (isolation) {
            case Connection.TRANSACTION_REPEATABLE_READ -> "REPEATABLE READ";
            case Connection.TRANSACTION_SERIALIZABLE -> "SERIALIZABLE";
            default -> "SNAPSHOT (" + isolation + ")";
        };
    }

    // Full jitter, so that writers that conflicted once do not conflict again.
    private void pause(int count) {
        long most = Math.min(LONGEST_PAUSE_NANOS, SHORTEST_PAUSE_NANOS << Math.min(count, 10));
        clock.parkNanos(this, ThreadLocalRandom.current().nextLong(1, most + 1));
    }

    @Override
    public String toString() {
        return "OptimisticUpdate[at most " + attempts + " attempts in " + time + "]";
    }
}
