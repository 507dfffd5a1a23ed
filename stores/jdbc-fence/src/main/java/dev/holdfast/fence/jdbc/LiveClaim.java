package dev.holdfast.fence.jdbc;

import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import dev.holdfast.fence.jdbc.LiveRow.Locking;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.ResourceRecord.Place;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Asserts in a transaction of the user's that a claim is live, and keeps it so until the transaction ends.
 *
 * <h2>Why that is enough</h2>
 *
 * <p>A client must write the row of a name to get a grant, and also to remove the row. Once the row is locked here,
 * no client can do so before the transaction ends. A grant that is in the row when it is locked was never
 * interrupted since it was made, because a counter is never used twice. So from the grant to the end of the
 * transaction nobody else held the name, whatever the clocks showed meanwhile, and also if the lease ends before the
 * transaction does.
 *
 * <p>The time in the row's own statement is read just before the row is locked, not after. A lease that ends between the
 * two is still in the row, or it was taken over, and then the database shows the row as it is now.
 *
 * <p>An exclusive grant takes an exclusive lock of the row, so that two holders of this JVM to whom one grant was passed
 * from one to the next (which the row does not show) come one after the other, too. A shared grant takes a share lock.
 */
final class LiveClaim {

    /** The number of low bits of a token that count local hand-offs. */
    private static final int HAND_OFF_BITS = 10;

    /** The limit of the first pause between two tries. It doubles with each try. */
    private static final long SHORTEST_PAUSE_NANOS = 200_000;
    /** The longest pause between two tries. */
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final LiveRow.Reader rows;
    private final boolean parallel;
    private final Duration patience;
    private final MonotonicClock clock;

    /** @param parallel whether an exclusive grant takes a share lock only */
    LiveClaim(LiveRow.Reader rows, boolean parallel, Duration patience, MonotonicClock clock) {
        this.rows = rows;
        this.parallel = parallel;
        this.patience = patience;
        this.clock = clock;
    }

    /** @throws LockLostException if the claim is not live */
    void require(Connection connection, LockName name, long token) throws SQLException {
        if (rows.locksByWriting()) {
            rows.lock(connection, name);
            requireLive(rows.read(connection, name, Locking.NONE), name, token);
            return;
        }
        long start = clock.nanoTime();
        for (int tries = 0; ; tries++) {
            LiveRow seen = rows.read(connection, name, Locking.NONE);
            LiveRow locked =
                    rows.read(connection, name, isShared(seen, name, token) ? Locking.SHARED : Locking.EXCLUSIVE);
            if (locked != null || seen == null) {
                requireLive(locked, name, token);
                return;
            }
            if (clock.nanoTime() - start >= patience.toNanos()) {
                throw new SQLTransientException("The row of lock \"" + name + "\" was locked by other transactions for "
                        + patience.toMillis()
                        + " ms: another one has asserted the same lock and is still open. Roll back"
                        + " and try again, or, if one holder works in several transactions at once, use"
                        + " JdbcFence.parallel()");
            }
            pause(tries);
        }
    }

    // A row that is read without a lock may be as old as the beginning of the transaction: from before the last
    // renewal, or from before the grant. It decides how to lock, since a grant never becomes exclusive. If the row
    // is newer than the grant but does not have it, the grant is gone for good. Whether the grant is live is decided
    // by the locked row.
    private boolean isShared(@Nullable LiveRow seen, LockName name, long token) {
        if (seen == null || seen.row().counter() < token >> HAND_OFF_BITS) {
            return parallel;
        }
        Optional<Place> grant = seen.grant(token >> HAND_OFF_BITS);
        if (grant.isEmpty()) {
            requireLive(seen, name, token);
        }
        return parallel || !grant.orElseThrow().claim().isExclusive();
    }

    private static void requireLive(@Nullable LiveRow row, LockName name, long token) {
        long counter = token >> HAND_OFF_BITS;
        if (row == null || row.row().counter() < counter) {
            throw lost(
                    name,
                    token,
                    "this database has never granted it. Is the lock kept here, in this schema, and not in another store?"
                            + " Was it acquired before the transaction began?",
                    LossReason.BROKEN);
        }
        Optional<Place> grant = row.grant(counter);
        if (grant.isPresent() && row.isLive(grant.get())) {
            return;
        }
        if (grant.isPresent()) {
            throw lost(name, token, "its lease is over", LossReason.EXPIRED);
        }
        boolean later = row.row().counter() > counter;
        throw lost(
                name,
                token,
                later
                        ? "it ended, and the name was granted again since"
                        : "it was released, or broken by somebody else, or its lease was over",
                later ? LossReason.TAKEN : LossReason.BROKEN);
    }

    private static LockLostException lost(LockName name, long token, String why, LossReason reason) {
        return new LockLostException(
                "Lock \"" + name + "\" is not held with token " + token + " in this database: " + why
                        + ". Roll the transaction back; nothing of it may be committed",
                reason);
    }

    private void pause(int tries) {
        long most = Math.min(LONGEST_PAUSE_NANOS, SHORTEST_PAUSE_NANOS << Math.min(tries, 10));
        clock.parkNanos(this, ThreadLocalRandom.current().nextLong(most / 2, most + 1));
    }
}
