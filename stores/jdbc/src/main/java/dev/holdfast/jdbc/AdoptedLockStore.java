package dev.holdfast.jdbc;

import dev.holdfast.jdbc.adopted.AdoptedTable;
import dev.holdfast.jdbc.adopted.AdoptedTable.Change;
import dev.holdfast.jdbc.adopted.TheirRow;
import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.connection.ConnectionSource.Use;
import dev.holdfast.jdbc.connection.Lanes;
import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.connection.SerialConnection.Turn;
import dev.holdfast.jdbc.connection.StoreConnections;
import dev.holdfast.jdbc.row.Companion.TakenElsewhereException;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.LockTable.Rows;
import dev.holdfast.jdbc.row.RowLockedException;
import dev.holdfast.jdbc.row.Transition;
import dev.holdfast.jdbc.row.Transition.Applied;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Kinds;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.store.BlockingCalls;
import dev.holdfast.store.Bounds;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.store.TimeLimit;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A store whose exclusive locks stand in the table of other programs, too, so that both exclude each other. Tokens, owners,
 * leases and late requests are kept in a table of ours beside it, in the same rows as those of {@link RowLockStore}, and each
 * change of one of them changes the other in the same transaction.
 *
 * <p>There is no queue: the other programs would never have a turn while one of ours waits, and nobody would grant
 * the lock to a waiter of ours when they release it. Thread-safe.
 */
final class AdoptedLockStore implements LockStore {

    /** How long one renewal may retry on locked rows, all of its rows together. */
    private static final Duration PATIENCE_OF_RENEWALS = Duration.ofMillis(500);

    /** How long the lock of another program lasts: nobody knows. */
    private static final Duration NO_END = Duration.ofDays(36_500);

    private final StoreTraits traits;
    private final ConnectionSource source;
    private final AdoptedTable theirs;
    private final StoreConnections connections;
    private final Lanes lanes;
    private final SerialConnection renewals;
    private final SerialConnection scans;
    private final BlockingCalls renewalCalls;
    private final BlockingCalls scanCalls;
    private final AdoptedRowSweeper sweeper;

    AdoptedLockStore(
            Dialect dialect,
            ConnectionSource source,
            AdoptedTable theirs,
            StoreOptions options,
            StoreWiring wiring,
            MonotonicClock clock) {
        this.source = source;
        this.theirs = theirs;
        this.traits = new StoreTraits(
                        dialect.product() + ", layout=" + theirs.layoutName(),
                        false,
                        false,
                        false,
                        TokenSurvival.RESTART,
                        Liveness.LEASE,
                        Duration.ofNanos(1_000),
                        Duration.ZERO,
                        // A call may wait for a thread, for its turn, and for the pool to open a connection.
                        options.busyTimeout()
                                .multipliedBy(source.use() == Use.FOR_EVER ? 1 : 2)
                                .plus(options.callTimeout())
                                .plus(wiring.statementTimeout()))
                .withKinds(Kinds.MUTEX);
        this.connections = new StoreConnections(source, dialect, options.ticketTtl(), options.busyTimeout(), clock);
        String threads = "holdfast-" + dialect.product();
        TimeLimit turns = new TimeLimit(options.busyTimeout());
        this.lanes = new Lanes(
                wiring.lanes(), connections::another, threads + "-work", wiring.callerMayWork(), turns, clock);
        this.renewals = connections.another();
        this.scans = connections.anotherForNow();
        this.renewalCalls = new BlockingCalls(threads + "-renewal", 1, wiring.callerMayWork(), turns);
        this.scanCalls = new BlockingCalls(threads + "-scan", 1, wiring.callerMayWork(), turns);
        this.sweeper = new AdoptedRowSweeper(connections, scans, theirs, options.keep(), threads + "-sweeper");
    }

    /** Begins to look for what dead clients have left. */
    void start() {
        sweeper.start();
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        StoreException refusal = theirs.refusal(claim);
        return refusal != null
                ? CompletableFuture.failedStage(refusal)
                : lanes.call(claim.name(), work -> work.call(turn -> tryAcquire(turn, claim)));
    }

    // It is tried again soon in any case, so a row that somebody has locked is not waited for.
    private Attempt tryAcquire(Turn turn, Claim claim) throws SQLException {
        try {
            return turn.table().tryAcquire(claim, false, theirs.change()).answerOrThrow();
        } catch (TakenElsewhereException taken) {
            return new Attempt.Busy(Duration.ZERO);
        } catch (RowLockedException isLocked) {
            return new Attempt.Busy(LockTable.PATIENCE);
        }
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        List<Claim> batch = Bounds.batch(claims);
        return renewalCalls.call(() -> renewAll(batch));
    }

    private List<Renewed> renewAll(List<Claim> batch) {
        Map<ClaimId, Renewed> answers = new HashMap<>();
        try {
            if (!batch.isEmpty()) {
                renewals.call(turn -> renewAll(batch, turn, answers));
            }
        } catch (RuntimeException | Error failure) {
            if (answers.isEmpty()) {
                throw failure;
            }
            StoreException cause = StoreException.of(failure);
            batch.forEach(claim -> answers.putIfAbsent(claim.id(), new Renewed.Failed(cause)));
        }
        return batch.stream().map(claim -> answers.get(claim.id())).toList();
    }

    private boolean renewAll(List<Claim> batch, Turn turn, Map<ClaimId, Renewed> answers) throws SQLException {
        LockTable table = turn.table();
        table.waitForLocked(PATIENCE_OF_RENEWALS);
        Map<String, TheirRow> rows =
                theirs.read(table.statements(), batch.stream().map(Claim::name).toList());
        List<Claim> there = new ArrayList<>();
        for (Claim claim : batch) {
            StoreException refusal = theirs.refusal(claim);
            if (refusal != null) {
                answers.put(claim.id(), new Renewed.Failed(refusal));
            } else if (theirs.isOf(
                    rows.get(claim.name().value()), claim.name(), claim.id().toString())) {
                there.add(claim);
            }
        }
        if (!theirs.hasHeartbeat()) {
            table.renewSole(there, answers);
        }
        for (Claim claim : batch) {
            if (!answers.containsKey(claim.id())) {
                renewOne(claim, turn, answers);
            }
        }
        return true;
    }

    // The answer for one claim does not depend on whether the others can be renewed.
    private void renewOne(Claim claim, Turn turn, Map<ClaimId, Renewed> answers) throws SQLException {
        try {
            answers.put(claim.id(), renewOne(claim, turn.further()));
        } catch (RowLockedException isLocked) {
            answers.put(claim.id(), new Renewed.Failed(isLocked.toStoreException()));
        } catch (StoreException failure) {
            answers.put(claim.id(), new Renewed.Failed(failure));
        }
    }

    private Renewed renewOne(Claim claim, LockTable table) throws SQLException {
        TheirRow row = theirs.read(table.statements(), claim.name());
        if (theirs.isOf(row, claim.name(), claim.id().toString())) {
            return transition(
                            table,
                            claim.name(),
                            read -> read.only().renew(claim, read.now(), read.epoch()),
                            theirs.change())
                    .answerOrThrow();
        }
        boolean isTaken = row != null && !row.isFree();
        return transition(table, claim.name(), read -> drop(claim, read, isTaken), theirs.changeWithout(claim.id()))
                .answerOrThrow();
    }

    // Somebody has deleted the row, or has made it another one's. What is left of the claim is our record.
    private static Renewed drop(Claim claim, Transition.Read read, boolean isTaken) {
        ResourceRecord record = read.only();
        Renewed answer = record.renew(claim, read.now(), read.epoch());
        if (!(answer instanceof Granted)) {
            return answer;
        }
        record.release(claim, read.now(), read.epoch());
        return new Renewed.Gone(isTaken ? Renewed.Reason.TAKEN : Renewed.Reason.RELEASED);
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return lanes.call(
                claim.name(),
                work -> work.call(turn -> {
                    boolean found = TheirRow.isTheirs(claim.id())
                            ? breakOff(turn.table(), claim)
                            : release(turn.table(), claim);
                    return found ? Released.ALONE : Released.NOT_OWNER;
                }));
    }

    private boolean release(LockTable table, Claim claim) throws SQLException {
        Change change = theirs.change();
        boolean found = transition(
                        table, claim.name(), read -> read.only().release(claim, read.now(), read.epoch()), change)
                .answerOrThrow();
        return found && !change.isMissing();
    }

    // The tombstone of an id that nobody has makes the transition write our row, and so lock it.
    private boolean breakOff(LockTable table, Claim seen) throws SQLException {
        Change change = theirs.changeAndBreak(seen.id());
        transition(
                table,
                seen.name(),
                read -> {
                    ResourceRecord record = read.only();
                    record.settle(read.now(), read.epoch());
                    return record.isFree() && record.release(seen, read.now(), read.epoch());
                },
                change);
        return change.isBroken();
    }

    private static <T> Applied<T> transition(LockTable table, LockName name, Transition<T> transition, Change change)
            throws SQLException {
        return table.transition(List.of(name), transition, true, change);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return lanes.call(
                name,
                work -> work.call(turn -> {
                    LockTable table = turn.table();
                    Optional<ResourceState> ours = table.look(
                                    name, read -> read.only().inspect(read.now(), read.epoch()), true, theirs.change())
                            .answerOrThrow()
                            .filter(ResourceState::isInUse);
                    return ours.isPresent() ? ours : inspectTheirs(table, name);
                }));
    }

    private Optional<ResourceState> inspectTheirs(LockTable table, LockName name) throws SQLException {
        // Ours first: if ours has had the lock in between, the id of an older version matches nothing.
        LockRow record = table.read(List.of(name)).row(name);
        TheirRow row = theirs.read(table.statements(), name);
        // If ours has got the lock meanwhile, the row is not the one of another program.
        if (row == null || row.isFree() || !record.holder().equals(LockRow.NONE)) {
            return Optional.empty();
        }
        OwnerInfo owner = new OwnerInfo("unknown", "", 0, "", row.label(), List.of());
        // The shortest lease, because the tombstone of a break lasts for so long.
        Claim claim = new Claim(name, row.id(record.version()), 1, 1, Claim.MIN_LEASE, owner);
        ResourceState.Entry holder = new ResourceState.Entry(claim, 0, Duration.ZERO, NO_END);
        return Optional.of(new ResourceState(name, 1, record.counter(), List.of(holder), List.of()));
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        return scanCalls.call(() -> scans.call(turn -> list(turn.table(), prefix, limit)));
    }

    private List<LockName> list(LockTable table, String prefix, int limit) throws SQLException {
        List<LockName> held = new ArrayList<>();
        theirs.list(table.statements(), prefix, MAX_LIST).values().forEach(row -> {
            LockName name = row.isFree() || !row.name().startsWith(prefix) ? null : name(row.name());
            if (name != null) {
                held.add(name);
            }
        });
        List<LockName> sorted = held.stream().sorted().toList();
        List<LockName> live = new ArrayList<>();
        for (int from = 0; from < sorted.size() && live.size() < limit; from += LockTable.MAX_BATCH) {
            List<LockName> some = sorted.subList(from, Math.min(sorted.size(), from + LockTable.MAX_BATCH));
            Rows rows = table.read(some);
            some.stream().filter(name -> isLive(rows.row(name), rows.now())).forEach(live::add);
        }
        return live.subList(0, Math.min(limit, live.size()));
    }

    // The row of a client of ours that is dead stays for a moment.
    private static boolean isLive(LockRow record, long now) {
        return record.holder().equals(LockRow.NONE) || record.expires() > now;
    }

    private static @Nullable LockName name(String text) {
        try {
            return new LockName(text);
        } catch (IllegalArgumentException ofNoLock) {
            return null;
        }
    }

    @Override
    public void close() {
        sweeper.close();
        renewalCalls.close();
        scanCalls.close();
        lanes.close();
        connections.close();
    }

    @Override
    public String toString() {
        return traits.product() + " store " + source;
    }
}
