package dev.holdfast.jdbc.adopted;

import dev.holdfast.jdbc.config.AdoptedLayout;
import dev.holdfast.jdbc.config.AdoptedLayout.Form;
import dev.holdfast.jdbc.config.SqlName;
import dev.holdfast.jdbc.row.Companion;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.jdbc.row.RowLockedException;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The table in which other programs keep their locks, and the statements on it. Thread-safe.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>One rule says whose a row is: <em>it is ours if our own row of the name has a holder, live or not</em>. So whatever
 * gives our row a holder, or takes it away, must do the same to their row in the same transaction. {@link Change} derives
 * that from our row before and after the change, whoever makes it: an acquire, a release, or the clean-up after a dead
 * client. All clients lock our row first and then theirs, so they cannot deadlock; the other programs lock theirs
 * only.
 *
 * <p>If somebody has deleted a row of ours by hand and another program has inserted its own, the rule is wrong. A column
 * of the owner corrects it: ours has the id of the claim in it, and nothing is touched in which it is not.
 */
public final class AdoptedTable {

    /** What begins the text in the column of the owner, followed by the id of the claim. */
    static final String MARK = "holdfast:";

    private static final int CHUNK = 256;

    /** What needs a transaction in every dialect. */
    private static final int SEVERAL_ROWS = 2;

    private static final Duration SUMMER_TIME = Duration.ofHours(1);

    /** By so much a time is earlier, at most, in a column that keeps whole seconds. */
    private static final Duration WHOLE = Duration.ofSeconds(1);

    private final AdoptedLayout layout;
    private final AdoptedColumns columns;
    private final Dialect dialect;

    private final String table;
    private final String name;
    private final @Nullable String owner;
    private final String andHeld;
    private final String andOwner;
    private final String where;
    private final String select;

    public AdoptedTable(AdoptedLayout layout, AdoptedColumns columns, Dialect dialect) {
        this.layout = layout;
        this.columns = columns;
        this.dialect = dialect;
        this.table = layout.table().text();
        this.name = layout.name().text();
        SqlName ownerColumn = layout.owner();
        this.owner = ownerColumn == null ? null : ownerColumn.text();
        SqlName flag = layout.flag();
        this.andHeld = flag == null ? "" : " AND " + flag + " = ?";
        this.andOwner = owner == null ? "" : " AND " + owner + " = ?";
        SqlName time = layout.time();
        this.where = " WHERE " + name + " = ?";
        this.select = "SELECT " + name
                + (flag == null ? ", 0, " : ", CASE WHEN " + flag + " = ? THEN 1 ELSE 0 END, ")
                + (owner == null ? "''" : owner)
                + ", " + (time == null ? "''" : time)
                + (layout.deadAfter() == null ? ", 0" : ", CASE WHEN " + isDead() + " THEN 1 ELSE 0 END")
                + " FROM " + table;
    }

    private boolean isFlag() {
        return layout.form() == Form.FLAG;
    }

    private String isDead() {
        Duration deadAfter = layout.deadAfter();
        if (deadAfter == null) {
            return "1 = 0";
        }
        // When the clock is put forward, whoever lives seems to be older by the hour that is missing.
        Duration limit = columns.hasSummerTime() ? deadAfter.plus(SUMMER_TIME) : deadAfter;
        return dialect.sql(dialect.isOlder(
                String.valueOf(layout.time()),
                columns.timeType(),
                String.valueOf(columns.now()),
                RowCodec.micros(limit)));
    }

    /** The name of the layout, as in the URL. */
    public String layoutName() {
        return layout.form().toString();
    }

    /** Whether renewals write into the table. */
    public boolean hasHeartbeat() {
        return layout.time() != null;
    }

    /**
     * Refuses, before anything is sent, what the table cannot carry.
     *
     * @return null if it can
     */
    public @Nullable StoreException refusal(Claim claim) {
        String said = null;
        Duration deadAfter = layout.deadAfter();
        if (claim.limit() != 1) {
            said = "can be locked exclusively only, but was claimed as " + kind(claim.limit())
                    + ": open a store without the option layout for it";
        } else if (claim.name().value().length() > columns.maxName()) {
            said = "is longer than the " + columns.maxName() + " characters of column " + name
                    + ": choose a shorter name, or make the column longer";
        } else if (owner != null && mark(claim.id().toString()).length() > columns.maxOwner()) {
            said = "needs " + mark(claim.id().toString()).length() + " characters in column " + owner + ", which has "
                    + columns.maxOwner() + ": make the column longer";
        } else if (deadAfter != null && claim.lease().plus(WHOLE).compareTo(deadAfter) > 0) {
            // A lease is renewed each third of it. A longer one could be taken over while it lives.
            said = "was claimed with a lease of " + claim.lease().toMillis()
                    + " ms, but its holder counts as dead after " + deadAfter.toMillis()
                    + " ms, or a second earlier where the time is kept in whole seconds: set a shorter lease, or a longer"
                    + " deadAfter here and in the other programs";
        }
        return said == null
                ? null
                : StoreException.refused(
                        "With layout=" + layout.form() + " on table " + table + ", \"" + claim.name() + "\" of "
                                + claim.owner() + " " + said,
                        null);
    }

    private static String kind(int limit) {
        return switch (limit) {
            case 0 -> "a wait set (a condition)";
            case Claim.ALL -> "a read-write lock";
            default -> "a semaphore of " + limit;
        };
    }

    /** Whether a row is that of a claim. */
    public boolean isOf(@Nullable TheirRow row, LockName lock, String holder) {
        if (row == null || row.isFree() || holder.equals(LockRow.NONE)) {
            return false;
        }
        if (owner != null) {
            return row.owner().equals(mark(holder));
        }
        // With a flag the name was there before, perhaps in another case.
        return isFlag() || row.name().equals(lock.value());
    }

    private static String mark(String holder) {
        return MARK + holder;
    }

    /** Reads the row of a name; null if there is none. */
    public @Nullable TheirRow read(LockStatements statements, LockName lock) throws SQLException {
        return read(statements, lock, "");
    }

    private @Nullable TheirRow read(LockStatements statements, LockName lock, String locking) throws SQLException {
        Optional<TheirRow> found = query(
                statements,
                List.of(lock),
                select + where + locking,
                with(flagValue(layout.free()), lock.value()),
                rows -> rows.next() ? Optional.of(row(rows)) : Optional.empty());
        return found.orElse(null);
    }

    // Somebody may have locked the whole table. In a transaction of ours the waits are limited already.
    private <T> T query(
            LockStatements statements,
            List<LockName> locks,
            String sql,
            LockStatements.Binder values,
            LockStatements.Reader<T> reader)
            throws SQLException {
        Connection connection = statements.connection();
        if (!connection.getAutoCommit()) {
            return reported(() -> statements.query(sql, values, reader));
        }
        String limit = dialect.impatience();
        try {
            return reported(() -> limit == null
                    ? statements.query(dialect.impatient(sql), values, reader)
                    : inTransaction(statements, limit, () -> statements.query(sql, values, reader)));
        } catch (SQLException failure) {
            if (dialect.isLocked(failure)) {
                throw new RowLockedException(locks, failure);
            }
            throw failure;
        }
    }

    private static <T> T inTransaction(LockStatements statements, String limit, Statement<T> read) throws SQLException {
        boolean done = false;
        try {
            statements.begin(SEVERAL_ROWS);
            statements.execute(limit);
            T result = read.run();
            statements.commit();
            done = true;
            return result;
        } finally {
            if (!done) {
                statements.undo();
            }
        }
    }

    /** Reads the rows of some names, by the names as they stand there. */
    public Map<String, TheirRow> read(LockStatements statements, List<LockName> locks) throws SQLException {
        Map<String, TheirRow> found = new HashMap<>();
        for (int from = 0; from < locks.size(); from += CHUNK) {
            List<LockName> chunk = locks.subList(from, Math.min(locks.size(), from + CHUNK));
            String marks = String.join(", ", Collections.nCopies(chunk.size(), "?"));
            List<Object> values = new ArrayList<>();
            values.add(flagValue(layout.free()));
            chunk.forEach(lock -> values.add(lock.value()));
            readInto(found, statements, chunk, " WHERE " + name + " IN (" + marks + ")", with(values.toArray()));
        }
        return found;
    }

    /** Reads some of the rows of held locks with names that begin with a prefix. */
    public Map<String, TheirRow> list(LockStatements statements, String prefix, int most) throws SQLException {
        Map<String, TheirRow> found = new HashMap<>();
        String pattern = prefix.replaceAll("[!%_]", "!$0") + "%";
        LockStatements.Binder values = with(flagValue(layout.free()), pattern, flagValue(layout.free()));
        // What is free must not use up the limit. A flag that is NULL is busy.
        SqlName flag = layout.flag();
        String andBusy = flag == null ? "" : " AND (" + flag + " <> ? OR " + flag + " IS NULL)";
        readInto(found, statements, List.of(), " WHERE " + name + " LIKE ? ESCAPE '!'" + andBusy, statement -> {
            statement.setMaxRows(most);
            values.bind(statement);
        });
        return found;
    }

    private void readInto(
            Map<String, TheirRow> found,
            LockStatements statements,
            List<LockName> locks,
            String condition,
            LockStatements.Binder values)
            throws SQLException {
        query(statements, locks, select + condition, values, rows -> {
            while (rows.next()) {
                TheirRow row = row(rows);
                found.put(row.name(), row);
            }
            return true;
        });
    }

    private static TheirRow row(ResultSet rows) throws SQLException {
        return new TheirRow(
                rows.getString(1),
                rows.getInt(2) == 1,
                text(rows.getString(3)),
                text(rows.getString(4)),
                rows.getInt(5) == 1);
    }

    private static String text(@Nullable String value) {
        return value == null ? "" : value;
    }

    /** What changes their row together with ours; a new one for each call. */
    public Change change() {
        return new Change(LockRow.NONE, null);
    }

    /** The same, but their row is not touched when this claim loses ours: somebody else has taken theirs from it. */
    public Change changeWithout(ClaimId lost) {
        return new Change(lost.toString(), null);
    }

    /** The same, and it ends the hold of another program if it is still the one with this {@link TheirRow#id}. */
    public Change changeAndBreak(ClaimId seen) {
        return new Change(LockRow.NONE, seen);
    }

    /** Their row follows ours. */
    public final class Change implements Companion {

        private final String lost;
        private final @Nullable ClaimId broken;
        private boolean missing;
        private boolean done;

        private Change(String lost, @Nullable ClaimId broken) {
            this.lost = lost;
            this.broken = broken;
        }

        /** Whether a row that was to be given back was not there any more, or not ours. */
        public boolean isMissing() {
            return missing;
        }

        /** Whether it has ended the hold of another program. */
        public boolean isBroken() {
            return done;
        }

        @Override
        public boolean admits(LockStatements statements, LockRow before, LockRow after) throws SQLException {
            return !takes(before, after) || isObtainable(read(statements, after.name()), before);
        }

        // It may run several times. What counts is the last one.
        @Override
        public void follow(LockStatements statements, LockRow before, LockRow after) throws SQLException {
            missing = false;
            done = false;
            if (takes(before, after)) {
                take(statements, before, after);
            } else if (!isHeld(before)) {
                done = broken != null && breakOff(statements, before, broken);
            } else if (isHeld(after)) {
                beat(statements, after);
            } else if (!before.holder().equals(lost)) {
                missing = !give(statements, before);
            }
        }
    }

    private static boolean isHeld(LockRow row) {
        return !row.holder().equals(LockRow.NONE);
    }

    private static boolean takes(LockRow before, LockRow after) {
        return isHeld(after) && !after.holder().equals(before.holder());
    }

    private boolean isObtainable(@Nullable TheirRow row, LockRow before) {
        if (row == null && isFlag() && !columns.mayInsert()) {
            throw StoreException.refused(
                    "Table " + table + " has no row for \"" + before.name()
                            + "\", and Holdfast cannot insert one because"
                            + " another column needs a value: insert the row, with " + layout.flag() + " = "
                            + layout.free(),
                    null);
        }
        return row == null || row.isFree() || row.isDead() || isOf(row, before.name(), before.holder());
    }

    // The row of a holder of ours that is dead stays where it is, and changes its owner.
    private void take(LockStatements statements, LockRow before, LockRow after) throws SQLException {
        boolean taken;
        try {
            taken = (isHeld(before) && takeOurs(statements, before, after))
                    || takeDead(statements, after)
                    || takeFree(statements, after);
        } catch (SQLException failure) {
            if (dialect.isLocked(failure) || !dialect.isRace(failure)) {
                throw failure;
            }
            taken = false; // another program has just inserted the row
        }
        if (!taken) {
            throw new Companion.TakenElsewhereException();
        }
    }

    private boolean takeOurs(LockStatements statements, LockRow before, LockRow after) throws SQLException {
        if (owner == null) {
            // It is locked, so that it does not vanish before the commit. It is read as it is now.
            return isOf(read(statements, before.name(), " FOR UPDATE"), before.name(), before.holder());
        }
        return 1
                == change(
                        statements,
                        "UPDATE " + table + " SET " + stamps() + where + andHeld + andOwner,
                        mark(after.holder()),
                        after.name().value(),
                        flagValue(layout.held()),
                        mark(before.holder()));
    }

    private boolean takeDead(LockStatements statements, LockRow after) throws SQLException {
        return layout.deadAfter() != null
                && 1
                        == change(
                                statements,
                                "UPDATE " + table + " SET " + stamps() + where + andHeld + " AND " + isDead(),
                                mark(after.holder()),
                                after.name().value(),
                                flagValue(layout.held()));
    }

    private boolean takeFree(LockStatements statements, LockRow after) throws SQLException {
        String mark = owner == null ? null : mark(after.holder());
        if (isFlag()) {
            String andStamps = owner == null ? "" : ", " + stamps();
            int set = change(
                    statements,
                    "UPDATE " + table + " SET " + layout.flag() + " = ?" + andStamps + where + andHeld,
                    flagValue(layout.held()),
                    mark,
                    after.name().value(),
                    flagValue(layout.free()));
            if (set == 1 || !columns.mayInsert() || read(statements, after.name()) != null) {
                return set == 1;
            }
        }
        String into = name + (isFlag() ? ", " + layout.flag() : "") + (owner == null ? "" : ", " + owner);
        String values = "?" + (isFlag() ? ", ?" : "") + (owner == null ? "" : ", ?");
        String andTime = layout.time() == null ? "" : ", " + layout.time();
        String andNow = layout.time() == null ? "" : ", " + columns.now();
        return 1
                == change(
                        statements,
                        "INSERT INTO " + table + " (" + into + andTime + ") VALUES (" + values + andNow + ")",
                        after.name().value(),
                        flagValue(layout.held()),
                        mark);
    }

    // The owner, and the time if there is a column for it.
    private String stamps() {
        return owner + " = ?" + (layout.time() == null ? "" : ", " + layout.time() + " = " + columns.now());
    }

    // The number of changed rows says nothing: within one step of the clock nothing changes. What is gone was
    // found by a read before.
    private void beat(LockStatements statements, LockRow held) throws SQLException {
        if (layout.time() != null) {
            change(
                    statements,
                    "UPDATE " + table + " SET " + layout.time() + " = " + columns.now() + where + andHeld + andOwner,
                    held.name().value(),
                    flagValue(layout.held()),
                    mark(held.holder()));
        }
    }

    private boolean give(LockStatements statements, LockRow before) throws SQLException {
        String mark = owner == null ? null : mark(before.holder());
        if (!isFlag()) {
            return 1
                    == change(
                            statements,
                            "DELETE FROM " + table + where + andOwner,
                            before.name().value(),
                            mark);
        }
        return 1
                == change(
                        statements,
                        "UPDATE " + table + free() + where + andHeld + andOwner,
                        flagValue(layout.free()),
                        before.name().value(),
                        flagValue(layout.held()),
                        mark);
    }

    private String free() {
        return " SET " + layout.flag() + " = ?"
                + (owner == null ? "" : ", " + owner + (columns.ownerMayBeNull() ? " = NULL" : " = ''"));
    }

    // Our row was written before, so it is locked, and none of ours can have the lock. Theirs is locked by the read.
    private boolean breakOff(LockStatements statements, LockRow before, ClaimId seen) throws SQLException {
        TheirRow row = read(statements, before.name(), " FOR UPDATE");
        if (row == null || row.isFree() || !row.id(before.version()).equals(seen)) {
            return false;
        }
        String change = isFlag() ? "UPDATE " + table + free() : "DELETE FROM " + table;
        return 1
                == change(
                        statements,
                        change + where,
                        flagValue(isFlag() ? layout.free() : null),
                        before.name().value());
    }

    private int change(LockStatements statements, String sql, @Nullable Object... values) throws SQLException {
        return reported(() -> statements.change(sql, with(values)));
    }

    /** The value of a flag as a parameter. */
    private record FlagValue(String text) {}

    private @Nullable FlagValue flagValue(@Nullable String text) {
        return text == null || !isFlag() ? null : new FlagValue(text);
    }

    // The parameters of a statement, without those that this layout does not have.
    private LockStatements.Binder with(@Nullable Object... values) {
        return statement -> {
            int index = 1;
            for (Object value : values) {
                if (value instanceof FlagValue flag) {
                    columns.flag().bind(statement, index++, flag.text());
                } else if (value != null) {
                    statement.setString(index++, value.toString());
                }
            }
        };
    }

    private <T> T reported(Statement<T> statement) throws SQLException {
        try {
            return statement.run();
        } catch (SQLException failure) {
            if (dialect.isMissing(failure)) {
                throw StoreException.refused(
                        "Table " + table + ", which layout=" + layout.form()
                                + " shares with other programs, is not as it"
                                + " was when the store was opened: " + failure.getMessage()
                                + ". Open the store again when it is right",
                        failure);
            }
            throw failure;
        }
    }

    /** Something that is done in the database. */
    @FunctionalInterface
    private interface Statement<T> {
        T run() throws SQLException;
    }
}
