package dev.holdfast.jdbc.row;

import dev.holdfast.jdbc.row.LockStatements.Page;
import dev.holdfast.jdbc.row.Transition.Applied;
import dev.holdfast.jdbc.row.Transition.Read;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.ResourceRecord;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The table {@code holdfast_lock} as one connection sees it. Not thread-safe: a {@code SerialConnection} guards it.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>There are two ways to change a row. The <em>one-statement paths</em> ({@link #acquireFree}, {@link
 * #releaseSole}, {@link #renewSole}, and behind an exclusive holder {@link #join}, {@link #refresh} and {@link
 * #handOver}) are the common cases, in autocommit: each tests all that it relies on in its own WHERE, and changes nothing
 * if a condition is not true. The <em>transition</em> is every other case: it reads the row, lets {@link ResourceRecord}
 * decide, and writes the row back if its version is still the same. So the rules are written once, in the record. The one-statement paths do what the record would do for a row that is free,
 * has a sole holder, or has an exclusive one and a queue.
 *
 * <p>All times come from the statement itself, read when the database runs it. A time that is a little old, because
 * the statement waited for another client, can only make a lease shorter than what was reported to the client (law
 * 5), or show a grant as live that has just ended.
 */
public final class LockTable implements AutoCloseable {

    /** The most claims of one renewing statement. Further ones go into further statements. */
    public static final int MAX_BATCH = 256;

    /** How often a transition is tried again because other clients changed the row meanwhile. */
    public static final int MAX_RACES = 60;

    /** How long a transition retries on a row that another client's transaction has locked. */
    public static final Duration PATIENCE = Duration.ofMillis(100);

    /** The most rows that one statement of {@link #list} returns. */
    private static final int PAGE = 1_000;

    /** The most rows that one statement of {@link #list} looks at: almost all of them may be idle. */
    private static final int MOST_SEEN = 10_000;

    /** The longest pause between two tries of a transition. */
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /** The row of the lock and that of the mark: so the vote of a node is always a transaction. */
    private static final int ROWS_OF_A_NODE = 2;

    /** How much longer than its limit a call may take. So the common call need not set a limit on the connection. */
    private static final long SLACK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Connection connection;
    private final Dialect dialect;
    private final LockStatements statements;
    private final Duration ticketTtl;
    private final MonotonicClock clock;
    private final EntryCache entryCache = new EntryCache();
    /** Until when transitions may try again: for ever, before the first call. */
    private long deadline;

    /** The limit of the connection's waits for other clients; 0 before the first call. */
    private long waitNanos;

    private long patienceNanos = Long.MAX_VALUE;

    public LockTable(
            Connection connection, Dialect dialect, Duration ticketTtl, boolean keepStatements, MonotonicClock clock) {
        this.connection = connection;
        this.clock = clock;
        this.dialect = dialect;
        this.statements = new LockStatements(connection, dialect, keepStatements);
        this.ticketTtl = ticketTtl;
        this.deadline = clock.nanoTime() + Long.MAX_VALUE / 2;
    }

    /**
     * Begins a call.
     *
     * @param newDeadline until when transitions may try again
     * @param usual how long the connection waits for other clients at most if nothing else was set
     */
    public void begin(long newDeadline, Duration usual) {
        deadline = newDeadline;
        waitNanos = usual.toNanos();
    }

    /**
     * To be called before a further statement: limits its waits to the time that is left of the call.
     *
     * @return false if there is none
     */
    public boolean limitWait() throws SQLException {
        long left = deadline - clock.nanoTime();
        // In most calls almost no time has passed yet, and the present limit is good enough.
        if (left > 0 && waitNanos - left > SLACK_NANOS) {
            dialect.limitWait(connection, Duration.ofNanos(left));
            waitNanos = left;
        }
        return left > 0;
    }

    /** Ends a call: further ones may wait for as long as usual. */
    public void end(Duration usual) throws SQLException {
        if (waitNanos != usual.toNanos()) {
            dialect.limitWait(connection, usual);
        }
    }

    /** Sets how long all further transitions together may retry on locked rows. */
    public void waitForLocked(Duration patience) {
        patienceNanos = patience.toNanos();
    }

    public LockStatements statements() {
        return statements;
    }

    /** Acquires a free resource with one statement; null if it is not free, or another client came first. */
    @Nullable
    public Granted acquireFree(Claim claim) throws SQLException {
        if (claim.isWaitSet()) {
            return null;
        }
        try {
            long counter = dialect.acquireFree(statements, claim);
            return counter == 0 ? null : new Granted(counter, claim.lease());
        } catch (SQLException failure) {
            if (dialect.isRace(failure)) {
                return null;
            }
            throw failure;
        }
    }

    /**
     * Releases a sole holder with one statement; false if the claim is not the sole holder, or others wait behind
     * it.
     */
    public boolean releaseSole(Claim claim) throws SQLException {
        try {
            return !claim.repeated() && statements.releaseSole(claim);
        } catch (SQLException failure) {
            if (dialect.isRace(failure)) {
                return false;
            }
            throw failure;
        }
    }

    /**
     * Appends a claim to the queue with one statement, if the holder leaves no room for any other claim; empty if that is not
     * so, or other clients came first. Clients that join do not race, as those would that read the row and write it back: they
     * queue for the row in the database, unless its statement skips the row.
     *
     * @throws RowLockedException if a transaction that is not the store's keeps the row locked
     */
    public Optional<Joined> join(Claim claim) throws SQLException {
        try {
            return unlessRace(claim, () -> dialect.join(statements, claim, ticketTtl));
        } catch (IllegalArgumentException | ArithmeticException unreadable) {
            return Optional.empty(); // a transition reports what is wrong with the row
        }
    }

    /**
     * Refreshes the ticket of a claim that waits with one statement, if the holder leaves no room for any other claim; empty if
     * that is not so, or other clients came first. As those that join, clients that refresh their tickets do not race.
     *
     * @throws RowLockedException if a transaction that is not the store's keeps the row locked
     */
    public Optional<Joined> refresh(Claim claim) throws SQLException {
        if (!dialect.hasRefresh() || patienceNanos <= 0) {
            return Optional.empty();
        }
        long asked = clock.nanoTime();
        try {
            return unlessRace(claim, () -> statements.refresh(claim, ticketTtl));
        } catch (RowLockedException isLocked) {
            patienceNanos -= clock.nanoTime() - asked;
            throw isLocked;
        } catch (IllegalArgumentException | ArithmeticException unreadable) {
            return Optional.empty(); // a transition reports what is wrong with the row
        }
    }

    /** Whether a transition follows at once where {@link #join} and {@link #handOver} did nothing. */
    public boolean transitionFollows() {
        return dialect.transitionFollows();
    }

    /** Whether {@link #join} may do something about a claim. */
    public boolean canJoin(Claim claim) {
        return dialect.hasQueueStatements() && !claim.isWaitSet() && (claim.isExclusive() || dialect.joinsShared());
    }

    /** Whether {@link #handOver} may do something about a claim. */
    public boolean canHandOver(Claim claim) {
        return dialect.hasQueueStatements() && claim.isExclusive() && !claim.repeated();
    }

    /**
     * Releases an exclusive holder and grants the resource to the first in the queue without reading the queue; empty if that is
     * not possible, or other clients came first.
     *
     * @throws RowLockedException if a transaction that is not the store's keeps the row locked
     */
    public Optional<HandedOver> handOver(Claim claim) throws SQLException {
        return unlessRace(claim, () -> dialect.handOver(statements, claim, ticketTtl));
    }

    /** What one statement does about a claim. */
    @FunctionalInterface
    private interface OneStatement<T> {
        Optional<T> run() throws SQLException;
    }

    private <T> Optional<T> unlessRace(Claim claim, OneStatement<T> statement) throws SQLException {
        try {
            return statement.run();
        } catch (SQLException failure) {
            if (dialect.isLocked(failure)) {
                throw new RowLockedException(List.of(claim.name()), failure);
            }
            if (dialect.isRace(failure)) {
                return Optional.empty();
            }
            throw failure;
        }
    }

    /** Those of some claims, of one name each, that are the oldest holder of the name. */
    public Map<ClaimId, Granted> holders(Map<LockName, ClaimId> claims) throws SQLException {
        return statements.holders(claims);
    }

    /**
     * Renews those of the claims that are sole holders with no waiters, {@value #MAX_BATCH} with one statement. If a
     * statement fails, the answers contain the claims that the statements before it have renewed.
     */
    public void renewSole(List<Claim> claims, Map<ClaimId, ? super Granted> answers) throws SQLException {
        for (int from = 0; from < claims.size(); from += MAX_BATCH) {
            List<Claim> chunk = claims.subList(from, Math.min(claims.size(), from + MAX_BATCH));
            Map<ClaimId, Granted> renewed = new HashMap<>();
            try {
                dialect.renewSole(statements, chunk, renewed);
                answers.putAll(renewed);
            } catch (SQLException failure) {
                if (!dialect.isRace(failure)) {
                    throw failure;
                }
            }
        }
    }

    /**
     * To be called before grants are believed that may have been read only. If one of the claims was sent before, this waits until
     * the commit of its grant could have been answered.
     */
    public void confirm(List<Claim> granted) throws SQLException {
        if (granted.stream().anyMatch(Claim::repeated)) {
            confirmRead(granted.stream().map(Claim::name).toList());
        }
    }

    /** The same for grants of some names that were read, where {@link Rows#needConfirmation} says that this is needed. */
    public void confirmRead(Collection<LockName> granted) throws SQLException {
        dialect.confirm(statements, granted);
    }

    /**
     * Acquires a lock if it is free for the claim, or finds that the claim holds it.
     *
     * @param mayWait whether to retry for a while on a row that is locked by somebody else
     * @throws RowLockedException if a transaction that is not the store's keeps the row locked
     */
    public Applied<Attempt> tryAcquire(Claim claim, boolean mayWait, Companion companion) throws SQLException {
        Applied<Attempt> applied =
                look(claim.name(), read -> read.only().tryAcquire(claim, read.now(), read.epoch()), mayWait, companion);
        if (applied.answer() instanceof Granted) {
            confirm(List.of(claim));
        }
        return applied;
    }

    /** Like {@link #transition}, for one that often changes nothing: then it is only a single read. */
    public <T> Applied<T> look(LockName name, Transition<T> transition, boolean mayWait) throws SQLException {
        return look(name, transition, mayWait, Companion.NONE);
    }

    /**
     * The same for a row that has a companion.
     *
     * @throws Companion.TakenElsewhereException if the companion does not admit the change
     */
    public <T> Applied<T> look(LockName name, Transition<T> transition, boolean mayWait, Companion companion)
            throws SQLException {
        Rows rows = statements.read(List.of(name));
        List<LockRow> changed = new ArrayList<>();
        Applied<T> applied = apply(rows, transition, changed);
        if (changed.isEmpty()) {
            return applied;
        }
        if (!companion.admits(statements, rows.row(name), changed.get(0))) {
            throw new Companion.TakenElsewhereException();
        }
        return transition(List.of(name), transition, mayWait, companion);
    }

    /**
     * Applies a transition to the records of some names, atomically.
     *
     * @param mayWait whether to retry for a while on a row that is locked by somebody else
     * @throws RowLockedException if a transaction that is not the store's keeps one of the rows locked
     * @throws StoreException with effect NONE if other clients came first {@value #MAX_RACES} times, or for too long
     */
    public <T> Applied<T> transition(Collection<LockName> names, Transition<T> transition, boolean mayWait)
            throws SQLException {
        return transition(names, transition, mayWait, false, Companion.NONE);
    }

    /** The same for rows that have a companion, which changes together with them or not at all. */
    public <T> Applied<T> transition(
            Collection<LockName> names, Transition<T> transition, boolean mayWait, Companion companion)
            throws SQLException {
        return transition(names, transition, mayWait, false, companion);
    }

    /**
     * Like {@link #transition}, for a node of a quorum: the mark of its incarnation is read in the same transaction as the row, so
     * that both are of one incarnation, also if a pooler gives each transaction another session.
     */
    public <T> Applied<T> asNode(LockName name, Transition<T> transition, boolean mayWait) throws SQLException {
        return transition(List.of(name), transition, mayWait, true, Companion.NONE);
    }

    private <T> Applied<T> transition(
            Collection<LockName> names, Transition<T> transition, boolean mayWait, boolean asNode, Companion companion)
            throws SQLException {
        long patience = mayWait ? Math.min(patienceNanos, PATIENCE.toNanos()) : 0;
        List<LockName> sorted = names.stream().distinct().sorted().toList();
        long lockedSince = clock.nanoTime();
        LockRow refused = null;
        boolean readFirst = dialect.beginExcludesWriters();
        for (int races = 1; races <= MAX_RACES; races++) {
            LockRow before = refused;
            refused = null;
            SQLException locked = null;
            try {
                // The try before may have waited for most of the time.
                if (!limitWait()) {
                    break;
                }
                Tried<T> tried = attempt(sorted, transition, readFirst, asNode, companion);
                if (tried.applied() != null) {
                    return tried.applied();
                }
                refused = tried.refused();
            } catch (SQLException failure) {
                locked = dialect.isLocked(failure) ? failure : null;
                if (locked == null && !dialect.isRace(failure)) {
                    throw failure;
                }
            }
            long now = clock.nanoTime();
            // Or the write was refused twice at the same version: so the row was not changed, but another client has it
            // locked.
            boolean isLocked = locked != null || (refused != null && before != null && refused.isSameVersion(before));
            if (!isLocked) {
                lockedSince = now;
            } else if (now - lockedSince >= patience) {
                patienceNanos -= now - lockedSince;
                throw new RowLockedException(sorted, locked);
            }
            // A connection whose transaction could not be undone refuses the next try. This one had no effect,
            // as the others.
            if (now - deadline >= 0 || statements.isSpoiled()) {
                break;
            }
            if (!readFirst) {
                pause(races);
            }
            readFirst = false;
        }
        throw StoreException.unavailable(
                Effect.NONE, sorted + " were changed by other clients each time that this client tried to", null);
    }

    /** The result of one try: the transition was applied, or the write of a row was refused. */
    private record Tried<T>(
            @Nullable Applied<T> applied, @Nullable LockRow refused) {}

    /**
     * @param readFirst whether the transaction begins after the rows were read, and only if several are written. Where
     *     a transaction keeps all other writers out, none of this program's code runs inside it then. That matters in a
     *     JVM that has just started: on a busy machine its first transition loads classes for most of a second, and
     *     twenty such processes had each other wait for longer than the limit.
     */
    private <T> Tried<T> attempt(
            List<LockName> sorted, Transition<T> transition, boolean readFirst, boolean asNode, Companion companion)
            throws SQLException {
        int companions = companion == Companion.NONE ? 0 : 1;
        boolean begun = false;
        boolean ended = false;
        try {
            if (!readFirst) {
                begun = true;
                statements.begin(asNode ? ROWS_OF_A_NODE : sorted.size() + companions);
            }
            Rows rows = statements.read(sorted);
            NodeMark mark = asNode ? NodeMark.read(statements, dialect) : null;
            List<LockRow> changed = new ArrayList<>();
            Applied<T> applied = apply(rows, mark, transition, changed);
            if (readFirst && changed.size() + companions > 1) {
                begun = true;
                statements.begin(changed.size() + companions);
            }
            for (LockRow row : changed) {
                if (!statements.write(row, rows.epoch())) {
                    return new Tried<>(null, row);
                }
                // After our row, so that all clients lock both in the same order.
                companion.follow(statements, rows.row(row.name()), row);
            }
            if (begun) {
                statements.commit();
            }
            ended = true;
            return new Tried<>(applied, null);
        } finally {
            if (begun && !ended) {
                statements.undo();
            }
        }
    }

    private <T> Applied<T> apply(Rows rows, Transition<T> transition, List<LockRow> changed) {
        return apply(rows, null, transition, changed);
    }

    private <T> Applied<T> apply(Rows rows, @Nullable NodeMark mark, Transition<T> transition, List<LockRow> changed) {
        Map<LockName, ResourceRecord> records = new TreeMap<>();
        rows.byName().forEach((name, row) -> records.put(name, row.toRecord(ticketTtl, entryCache)));
        T answer = null;
        StoreException refusal = null;
        try {
            answer = transition.apply(new Read(records, rows.now(), rows.epoch(), mark));
        } catch (StoreException refused) {
            refusal = refused;
        }
        List<Handed> handed = new ArrayList<>(0);
        boolean[] contended = new boolean[1];
        records.forEach((name, record) -> {
            handed.addAll(record.takeHanded());
            LockRow before = rows.row(name);
            LockRow after = LockRow.of(record, before.version(), entryCache);
            contended[0] |= after.more() > 0;
            if (!after.equals(before)) {
                changed.add(after);
            }
        });
        return new Applied<>(answer, refusal, handed, rows.now(), contended[0]);
    }

    /** Reads the rows of some names, without changing them. */
    public Rows read(Collection<LockName> names) throws SQLException {
        return statements.read(names);
    }

    /** Reads the rows of some names of which the version is not the given one, without changing them. */
    public Rows readChanged(Map<LockName, Long> versions) throws SQLException {
        return statements.readChanged(versions);
    }

    /** The heads of the rows of some names, of those that were changed. */
    public Map<LockName, RowHead> changedHeads(Map<LockName, RowHead.Asked> asked) throws SQLException {
        return statements.changedHeads(asked);
    }

    /**
     * Adds names in use that begin with a prefix. It looks at a bounded number of rows.
     *
     * @param from the name to begin with
     * @param most how many names are added at most
     * @return the name to continue with; the empty string if the end was reached
     */
    public String list(String from, String prefix, int most, List<LockName> found) throws SQLException {
        int size = Math.min(most, PAGE);
        String end = LockStatements.after(prefix);
        String bound = statements.nameAfter(from, end, MOST_SEEN);
        Page page = statements.inUse(from, bound.isEmpty() ? end : bound, size);
        for (LockRow row : page.rows().byName().values()) {
            if (row.name().value().startsWith(prefix) && isInUse(row, page.rows())) {
                found.add(row.name());
            }
        }
        // No name has control characters, so none sorts between this one and this one with U+0001 appended.
        return page.seen() == size ? page.last() + '\u0001' : bound;
    }

    /** The name that comes this many rows after the first one with a name from here on; empty if there are not so many. */
    public String nameAfter(String from, int rows) throws SQLException {
        return statements.nameAfter(from, "", rows);
    }

    /**
     * Rows of resources that are idle, most likely.
     *
     * @param removable names that may be removed as they are
     * @param ended rows that have entries whose time may be over: {@link #clear} them before
     */
    public record Idle(List<LockName> removable, List<LockRow> ended) {}

    /** Finds idle rows with names from one on to before another; without end if that is empty. */
    public Idle idle(String from, String end, long keepMicros) throws SQLException {
        Idle idle = new Idle(new ArrayList<>(), new ArrayList<>());
        for (LockRow row : statements.old(from, end, keepMicros).byName().values()) {
            if (row.more() == 0) {
                idle.removable().add(row.name());
            } else {
                idle.ended().add(row);
            }
        }
        return idle;
    }

    /**
     * Removes rows if they are idle, {@value #MAX_BATCH} at most, with one statement.
     *
     * @param keepMicros how long an idle row is kept. Its counter is a time, and the next counter of the name will be taken
     *     from the wall clock, so that it is larger
     * @return how many were removed; empty if another client was in the way, which one of them may have locked
     */
    public OptionalInt removeIdle(List<LockName> names, long keepMicros) throws SQLException {
        try {
            return OptionalInt.of(names.isEmpty() ? 0 : statements.removeIdle(names, keepMicros));
        } catch (SQLException failure) {
            if (dialect.isRace(failure)) {
                return OptionalInt.empty();
            }
            throw failure;
        }
    }

    /** Some of the other names that have further entries, which may be over. */
    public List<LockName> more(int most) throws SQLException {
        return statements.names(LockStatements.MORE, most, statement -> {});
    }

    /** Some of the names whose holder's lease is over. */
    public List<LockName> over(int most) throws SQLException {
        return statements.names(LockStatements.OVER, most, statement -> {});
    }

    /** Some of the names without a holder that were not granted for so long. */
    public List<LockName> unheld(long micros, int most) throws SQLException {
        return statements.names(LockStatements.UNHELD, most, statement -> statement.setLong(1, micros));
    }

    /** Clears rows that have nothing but entries whose time is over, as if they never had them. Returns their names. */
    public List<LockName> clear(List<LockRow> rows) throws SQLException {
        Rows now = statements.read(rows.stream().map(LockRow::name).toList());
        List<LockName> cleared = new ArrayList<>();
        for (LockRow row : now.byName().values()) {
            if (clear(row, now)) {
                cleared.add(row.name());
            }
        }
        return cleared;
    }

    private boolean clear(LockRow row, Rows read) throws SQLException {
        try {
            ResourceRecord record = row.toRecord(ticketTtl);
            record.settle(read.now(), read.epoch());
            return row.version() != 0
                    && record.isFree()
                    && record.tombstones().isEmpty()
                    && statements.write(LockRow.free(row.name(), row.version(), row.counter()), read.epoch());
        } catch (StoreException unreadable) {
            return false; // the calls about this name report it
        } catch (SQLException failure) {
            if (dialect.isRace(failure)) {
                return false; // and the others are cleared all the same
            }
            throw failure;
        }
    }

    private boolean isInUse(LockRow row, Rows page) {
        if (row.more() == 0) {
            return row.mayBeInUse(page.now());
        }
        try {
            ResourceRecord record = row.toRecord(ticketTtl);
            record.settle(page.now(), page.epoch());
            return !record.isFree();
        } catch (StoreException unreadable) {
            return true; // for all that is known; the calls about this name report it
        }
    }

    /**
     * Rows that were read by one statement, with the time at which it ran.
     *
     * @param needConfirmation whether a grant in them is believed only after {@link #confirmRead}
     */
    public record Rows(Map<LockName, LockRow> byName, long now, long epoch, boolean needConfirmation) {

        Rows(Map<LockName, LockRow> byName, long now, long epoch) {
            this(byName, now, epoch, false);
        }

        public LockRow row(LockName name) {
            LockRow row = byName.get(name);
            if (row == null) {
                throw new IllegalArgumentException("\"" + name + "\" was not read");
            }
            return row;
        }
    }

    // The pause has jitter and grows, so that two clients that conflicted once do not conflict again.
    private static void pause(int races) {
        long most = Math.min(LONGEST_PAUSE_NANOS, 100_000L << Math.min(races, 10));
        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(most));
    }

    /** Ends the use of the statements, but not that of the connection. */
    public void closeStatements() throws SQLException {
        statements.close();
    }

    @Override
    public void close() throws SQLException {
        try {
            statements.close();
        } finally {
            connection.close();
        }
    }
}
