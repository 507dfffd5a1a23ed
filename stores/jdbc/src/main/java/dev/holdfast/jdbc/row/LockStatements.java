package dev.holdfast.jdbc.row;

import dev.holdfast.jdbc.row.LockTable.Rows;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Released.Handed;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The SQL statements on {@code holdfast_lock}, one method each. Not thread-safe. */
public final class LockStatements implements AutoCloseable {

    private static final String COLUMNS =
            "name, version, counter, clock, holder, held, permits, capacity, since, expires, owner, more, others";

    // Releases live claims only. The release of an expired claim must leave a tombstone, and so needs a transition.
    public static final String RELEASE_SOLE = """
            UPDATE holdfast_lock SET version = version + 1, holder = '-', expires = %d
            WHERE name = ? AND holder = ? AND more = 0 AND clock = ? AND expires > $now
            """.formatted(LockRow.NEVER);

    // The left join returns a row even if no name has one, so that the time is returned in any case.
    private static final String READ = """
            SELECT $now, $epoch, %s
            FROM %s LEFT JOIN holdfast_lock ON name IN (%s)
            """;

    // With the number of the names that have a row: one whose row was removed is not among those that were changed.
    private static final String READ_CHANGED = """
            SELECT $now, $epoch, %s, (SELECT COUNT(*) FROM holdfast_lock WHERE name IN (%s))%s
            FROM %s LEFT JOIN holdfast_lock ON %s
            """;

    private static final int ROWS_PRESENT = 16;
    private static final int CONFIRMATION = 17;

    // The lease is that of the moment of the grant.
    private static final String HOLDERS =
            "SELECT name, holder, held, expires - since%s FROM holdfast_lock WHERE clock = ? AND (%s)";

    private static final String HOLDER = "(name = ? AND holder = ?)";

    private static final String CHANGED = "(name = ? AND version <> ?)";

    private static final String BEFORE = " AND name < ?";

    // Only names are read, which the index has.
    private static final String NAMES = "SELECT name FROM holdfast_lock WHERE name >= ?%s ORDER BY name ";

    private static final String IN_USE = """
            SELECT $now, $epoch, %s FROM holdfast_lock
            WHERE name >= ?%s AND (more > 0 OR expires > $now) AND clock = ?
            ORDER BY name
            """.replaceFirst("%s", COLUMNS);

    // A row that was never granted, such as that of a wait set, has no time in its counter. It stays for a
    // minute at the least, or it would be removed and made anew with each wait. The first version of a row is a
    // time, too.
    private static final String NOT_NEW = "(counter <> 0 OR version + 60000000 < $epoch)";

    // A counter is a time, too.
    private static final String OLD = """
            SELECT $now, $epoch, %s FROM holdfast_lock
            WHERE name >= ?%s AND counter + ? < $epoch AND (clock <> ? OR expires <= $now) AND $new
            """.replaceFirst("%s", COLUMNS).replace("$new", NOT_NEW);

    static final String OVER = "SELECT name FROM holdfast_lock WHERE holder <> '-' AND expires <= $now";

    static final String MORE = "SELECT name FROM holdfast_lock WHERE more > 0 AND (holder = '-' OR expires > $now)";

    static final String UNHELD =
            "SELECT name FROM holdfast_lock WHERE more = 0 AND holder = '-' AND counter + ? < $epoch";

    /** What every row that may be removed has in common. Parameters: how long it is kept in microseconds, clock. */
    static final String IS_IDLE =
            "counter + ? < $epoch AND (clock <> ? OR (more = 0 AND expires <= $now)) AND " + NOT_NEW;

    // Compare-and-set: the version shows whether another client changed the row since it was read.
    static final String UPDATE = """
            UPDATE holdfast_lock SET version = version + 1, counter = ?, clock = ?, holder = ?, held = ?, permits = ?,
              capacity = ?, since = ?, expires = ?, owner = ?, more = ?, others = ?
            WHERE name = ? AND version = ?
            """;

    static final String INSERT = """
            INSERT INTO holdfast_lock (counter, clock, holder, held, permits, capacity, since, expires, owner, more, others,
              name, version)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """;

    /** The most statements that stay prepared. A few are used all the time; others are as many as there are sizes of batches. */
    static final int MOST_KEPT = 100;

    private final Connection connection;
    private final Dialect dialect;
    private final boolean keep;
    /** In the order of their last use. */
    private final Map<String, PreparedStatement> kept = new LinkedHashMap<>(16, 0.75f, true);

    private boolean spoiled;

    /**
     * @param keep whether statements stay prepared until {@link #close()}; otherwise the pool or the driver caches
     *     them
     */
    public LockStatements(Connection connection, Dialect dialect, boolean keep) {
        this.connection = connection;
        this.dialect = dialect;
        this.keep = keep;
    }

    /** Reads the result of a statement. */
    @FunctionalInterface
    public interface Reader<T> {
        T read(ResultSet rows) throws SQLException;
    }

    /** A statement that changes rows, and says how many. */
    @FunctionalInterface
    public interface Change {
        int run() throws SQLException;
    }

    /** Sets the parameters of a statement. */
    @FunctionalInterface
    public interface Binder {
        void bind(PreparedStatement statement) throws SQLException;
    }

    // The first parameters of a statement that may grant a claim, or put it into the queue, for a time.
    private void bindClaim(PreparedStatement statement, Claim claim, Duration time) throws SQLException {
        dialect.bindName(statement, 1, claim.name().value());
        statement.setString(2, dialect.clock());
        statement.setString(3, claim.id().toString());
        statement.setInt(4, claim.permits());
        statement.setInt(5, claim.limit());
        statement.setLong(6, RowCodec.micros(time));
        statement.setString(7, RowCodec.owner(claim));
    }

    /** The new counter, or 0. */
    long acquireFree(Claim claim) throws SQLException {
        return query(
                dialect.ready("acquire", dialect::acquireFree),
                statement -> {
                    bindClaim(statement, claim, claim.lease());
                    dialect.bindEpoch(statement, 8);
                },
                rows -> {
                    long counter = 0;
                    // All rows are read: SQLite commits when the statement is done, not when its row is read.
                    while (rows.next()) {
                        counter = rows.getLong(1);
                    }
                    return counter;
                });
    }

    boolean releaseSole(Claim claim) throws SQLException {
        return 1
                == change(dialect.ready("release", dialect::releaseSole), statement -> {
                    dialect.bindName(statement, 1, claim.name().value());
                    statement.setString(2, claim.id().toString());
                    statement.setString(3, dialect.clock());
                });
    }

    /** Appends a claim to the queue behind an exclusive holder; empty if the statement did nothing. */
    Optional<Joined> join(Claim claim, Duration ticketTtl) throws SQLException {
        return query(
                dialect.ready("join", dialect::join), statement -> bindClaim(statement, claim, ticketTtl), rows -> {
                    Optional<Joined> joined = Optional.empty();
                    while (rows.next()) { // as when a free lock is acquired
                        joined = Optional.of(Joined.appended(rows.getLong(1), rows.getInt(2), rows.getString(3)));
                    }
                    return joined;
                });
    }

    /** Refreshes the ticket of a claim behind an exclusive holder; empty if the statement did nothing. */
    Optional<Joined> refresh(Claim claim, Duration ticketTtl) throws SQLException {
        return query(
                dialect.ready("refresh", dialect::refresh),
                statement -> bindClaim(statement, claim, ticketTtl),
                rows -> rows.next()
                        ? Optional.of(Joined.refreshed(rows.getLong(1), rows.getString(2), ticketTtl))
                        : Optional.empty());
    }

    /** Hands the resource of an exclusive holder to the first in the queue; empty if the statement did nothing. */
    Optional<HandedOver> handOver(Claim claim, Duration ticketTtl) throws SQLException {
        return query(
                dialect.ready("hand over", dialect::handOver),
                statement -> {
                    dialect.bindName(statement, 1, claim.name().value());
                    statement.setString(2, dialect.clock());
                    statement.setString(3, claim.id().toString());
                    statement.setLong(4, RowCodec.micros(ticketTtl));
                },
                rows -> {
                    if (!rows.next()) {
                        return Optional.empty();
                    }
                    Granted granted = new Granted(rows.getLong(2), RowCodec.duration(rows.getLong(3)));
                    return Optional.of(
                            new HandedOver(new Handed(ClaimId.parse(rows.getString(1)), granted), rows.getInt(4) > 0));
                });
    }

    /** Those of some claims, of one name each, that are the oldest holder of the name, without the rest of the rows. */
    Map<ClaimId, Granted> holders(Map<LockName, ClaimId> claims) throws SQLException {
        int size = padded(claims.size());
        String sql = dialect.ready(
                "holders " + size,
                () -> HOLDERS.formatted(
                        dialect.confirmation(), String.join(" OR ", Collections.nCopies(size, HOLDER))));
        return query(
                sql,
                statement -> {
                    statement.setString(1, dialect.clock());
                    int index = 2;
                    for (Map.Entry<LockName, ClaimId> claim : claims.entrySet()) {
                        dialect.bindName(statement, index++, claim.getKey().value());
                        statement.setString(index++, claim.getValue().toString());
                    }
                    while (index <= 1 + 2 * size) {
                        dialect.bindName(statement, index++, "");
                        statement.setString(index++, "");
                    }
                },
                rows -> renewed(rows, new HashMap<>()));
    }

    void renewSole(List<Claim> claims, Map<ClaimId, Granted> renewed) throws SQLException {
        int size = padded(claims.size());
        query(
                dialect.ready("renew " + size, () -> dialect.renewSole(size)),
                statement -> {
                    int index = 1;
                    for (int i = 0; i < size; i++) {
                        boolean padding = i >= claims.size();
                        Claim claim = claims.get(padding ? 0 : i);
                        dialect.bindName(
                                statement, index++, padding ? "" : claim.name().value());
                        statement.setString(index++, claim.id().toString());
                        statement.setLong(index++, RowCodec.micros(claim.lease()));
                        statement.setString(index++, padding ? "" : RowCodec.owner(claim));
                    }
                    statement.setString(index, dialect.clock());
                },
                rows -> renewed(rows, renewed));
    }

    /** Reads the rows that a renewal returns: name, holder, held, and the time that is left of the lease. */
    public static Map<ClaimId, Granted> renewed(ResultSet rows, Map<ClaimId, Granted> renewed) throws SQLException {
        while (rows.next()) {
            ClaimId id = ClaimId.parse(rows.getString(2));
            renewed.put(id, new Granted(rows.getLong(3), RowCodec.duration(rows.getLong(4))));
        }
        return renewed;
    }

    /** The rows of some names; a free one for a name that has no row, with version 0. */
    public Rows read(Collection<LockName> names) throws SQLException {
        int size = padded(names.size());
        String sql = dialect.ready("read " + size, () -> READ.formatted(COLUMNS, dialect.oneRow(), marks(size)));
        Rows found = query(sql, statement -> bindNames(statement, names, size), this::rows);
        for (LockName name : names) {
            found.byName().computeIfAbsent(name, absent -> LockRow.free(absent, 0, 0));
        }
        return found;
    }

    /** The rows of some names that have another version than this. If one of them has no row at all, all are read. */
    Rows readChanged(Map<LockName, Long> versions) throws SQLException {
        int size = padded(versions.size());
        String sql = dialect.ready(
                "changed " + size,
                () -> READ_CHANGED.formatted(
                        COLUMNS,
                        marks(size),
                        dialect.confirmation(),
                        dialect.oneRow(),
                        String.join(" OR ", Collections.nCopies(size, CHANGED))));
        Optional<Rows> changed = query(
                sql,
                statement -> {
                    int index = bindNames(statement, versions.keySet(), size);
                    for (Map.Entry<LockName, Long> version : versions.entrySet()) {
                        dialect.bindName(statement, index++, version.getKey().value());
                        statement.setLong(index++, version.getValue());
                    }
                    while (index <= 3 * size) {
                        dialect.bindName(statement, index++, "");
                        statement.setLong(index++, 0);
                    }
                },
                rows -> first(rows).getInt(ROWS_PRESENT) == versions.size()
                        ? Optional.of(further(rows, dialect.readsNeedConfirmation(rows, CONFIRMATION)))
                        : Optional.empty());
        if (changed.isPresent()) {
            return changed.get();
        }
        Rows all = read(versions.keySet());
        return new Rows(all.byName(), all.now(), all.epoch(), true);
    }

    /** The heads of the rows of some names that have another version than this. A name without a row has the version 0. */
    Map<LockName, RowHead> changedHeads(Map<LockName, RowHead.Asked> asked) throws SQLException {
        int size = padded(asked.size());
        return query(
                dialect.ready("heads " + size, () -> dialect.changedHeads(size)),
                statement -> {
                    statement.setString(1, dialect.clock());
                    int index = 2;
                    for (Map.Entry<LockName, RowHead.Asked> each : asked.entrySet()) {
                        dialect.bindName(statement, index++, each.getKey().value());
                        statement.setLong(index++, each.getValue().version());
                        statement.setString(index++, each.getValue().entry());
                    }
                    while (index <= 1 + 3 * size) {
                        dialect.bindName(statement, index++, "");
                        statement.setLong(index++, 0);
                        statement.setString(index++, "");
                    }
                },
                rows -> {
                    Map<LockName, RowHead> heads = new HashMap<>();
                    while (rows.next()) {
                        heads.put(
                                dialect.readName(rows, 1),
                                new RowHead(
                                        rows.getLong(2),
                                        rows.getString(3),
                                        rows.getLong(4),
                                        rows.getLong(5),
                                        rows.getLong(6),
                                        rows.getInt(7) == 1,
                                        RowHead.place(rows.getInt(8))));
                    }
                    return heads;
                });
    }

    /**
     * The name that comes this many rows after the first one with a name from here on.
     *
     * @param end names before this one only; empty for all
     * @return empty if there are not so many
     * @throws IllegalArgumentException if somebody has written something there that is no text
     */
    String nameAfter(String from, String end, int rows) throws SQLException {
        boolean skips = dialect.knowsLimit();
        return query(
                dialect.sql(NAMES.formatted(end.isEmpty() ? "" : BEFORE) + (skips ? "LIMIT 1 OFFSET ?" : "")),
                statement -> {
                    int index = bindRange(statement, from, end);
                    limit(statement, index, skips ? rows : rows + 1);
                },
                found -> {
                    String last = "";
                    int seen = skips ? rows : 0;
                    while (found.next()) {
                        last = dialect.names().text(found, 1);
                        seen++;
                    }
                    return seen > rows ? last : "";
                });
    }

    /**
     * Some of the rows in a range.
     *
     * @param rows those with the name of a lock
     * @param seen how many there were
     * @param last the name of the last one that has a name
     */
    record Page(Rows rows, int seen, String last) {}

    /** Rows in use with names from one on to before another; without end if that is empty. */
    Page inUse(String from, String end, int limit) throws SQLException {
        return query(
                limited(IN_USE.formatted(end.isEmpty() ? "" : BEFORE)),
                statement -> {
                    int index = bindRange(statement, from, end);
                    statement.setString(index++, dialect.clock());
                    limit(statement, index, limit);
                },
                this::page);
    }

    /** Rows whose newest grant is older than this, and whose oldest holder is gone; the range is that of {@link #inUse}. */
    Rows old(String from, String end, long micros) throws SQLException {
        return query(
                dialect.sql(OLD.formatted(end.isEmpty() ? "" : BEFORE)),
                statement -> {
                    int index = bindRange(statement, from, end);
                    statement.setLong(index++, micros);
                    statement.setString(index, dialect.clock());
                },
                rows -> page(rows).rows());
    }

    /** Some of the names that a query finds. Those that no lock can have are left out. */
    List<LockName> names(String sql, int most, Binder binder) throws SQLException {
        return query(
                dialect.sql(sql),
                statement -> {
                    statement.setMaxRows(most);
                    binder.bind(statement);
                },
                rows -> {
                    List<LockName> names = new ArrayList<>();
                    while (rows.next()) {
                        name(rows).ifPresent(names::add);
                    }
                    return names;
                });
    }

    private Optional<LockName> name(ResultSet rows) throws SQLException {
        try {
            return Optional.of(dialect.readName(rows, 1));
        } catch (IllegalArgumentException ofNoLock) {
            return Optional.empty(); // somebody else wrote it
        }
    }

    private int bindRange(PreparedStatement statement, String from, String end) throws SQLException {
        dialect.bindName(statement, 1, from);
        if (end.isEmpty()) {
            return 2;
        }
        dialect.bindName(statement, 2, end);
        return 3;
    }

    /**
     * A text that sorts after all that begin with the prefix; empty if there is none. It ends with a character that every
     * encoding of a database has, so names without the prefix may sort before it, too.
     */
    static String after(String prefix) {
        int end = prefix.length();
        while (end > 0 && prefix.charAt(end - 1) >= '~') {
            end--;
        }
        return end == 0 ? "" : prefix.substring(0, end - 1) + (char) (prefix.charAt(end - 1) + 1);
    }

    private String limited(String sql) {
        return dialect.sql(dialect.knowsLimit() ? sql + "LIMIT ?" : sql);
    }

    private void limit(PreparedStatement statement, int index, int limit) throws SQLException {
        if (dialect.knowsLimit()) {
            statement.setInt(index, limit);
        } else {
            statement.setMaxRows(limit);
        }
    }

    /** Writes a changed row back; false if another client changed the row since it was read, or has it locked. */
    public boolean write(LockRow row, long epoch) throws SQLException {
        boolean isNew = row.version() == 0;
        boolean keysFirst = !isNew && dialect.keysFirst();
        Change write = () -> change(
                dialect.ready(isNew ? "insert" : "update", isNew ? dialect::insert : dialect::update), statement -> {
                    bindColumns(statement, keysFirst ? 2 : 0, row);
                    int key = keysFirst ? 1 : 12;
                    dialect.bindName(statement, key, row.name().value());
                    statement.setLong(key + 1, isNew ? epoch : row.version());
                });
        return 1 == (isNew ? dialect.insertRow(this, write) : write.run());
    }

    private void bindColumns(PreparedStatement statement, int before, LockRow row) throws SQLException {
        statement.setLong(before + 1, row.counter());
        statement.setString(before + 2, dialect.clock());
        statement.setString(before + 3, row.holder());
        statement.setLong(before + 4, row.held());
        statement.setInt(before + 5, row.permits());
        statement.setInt(before + 6, row.capacity());
        statement.setLong(before + 7, row.since());
        statement.setLong(before + 8, row.expires());
        statement.setString(before + 9, row.owner());
        statement.setInt(before + 10, row.more());
        statement.setString(before + 11, row.others());
    }

    /** Removes rows if their locks are still idle, and were for so long. Returns how many. */
    int removeIdle(List<LockName> names, long micros) throws SQLException {
        int size = padded(names.size());
        return change(dialect.ready("remove " + size, () -> dialect.removeIdle(size)), statement -> {
            int index = bindNames(statement, names, size);
            statement.setLong(index++, micros);
            statement.setString(index, dialect.clock());
        });
    }

    private int bindNames(PreparedStatement statement, Collection<LockName> names, int size) throws SQLException {
        int index = 1;
        for (LockName name : names) {
            dialect.bindName(statement, index++, name.value());
        }
        while (index <= size) {
            dialect.bindName(statement, index++, "");
        }
        return index;
    }

    /** SQLite only: a number that changes when another connection commits; never negative. */
    public long dataVersion() throws SQLException {
        return query("PRAGMA data_version", statement -> {}, rows -> rows.next() ? rows.getLong(1) : 0);
    }

    public Connection connection() {
        return connection;
    }

    /** Begins a transaction that changes this many rows. {@link #commit} or {@link #rollBack} must follow, also if it fails. */
    public void begin(int rows) throws SQLException {
        refuseIfSpoiled();
        dialect.begin(this, rows);
    }

    /** Commits. When this returns, the transaction is committed, whatever came after that. */
    public void commit() throws SQLException {
        dialect.commit(this);
        reset();
    }

    /** Ends the transaction without effect. If this fails, the connection must not be used for anything else. */
    public void rollBack() throws SQLException {
        boolean ended = false;
        try {
            dialect.rollBack(this);
            ended = true;
        } finally {
            spoiled |= !ended;
        }
        reset();
    }

    /** The same after a failure, which is what the caller should learn of. */
    public void undo() {
        try {
            rollBack();
        } catch (SQLException broken) {
            return; // no further statement is run on the connection
        }
    }

    private void reset() {
        try {
            dialect.reset(this);
        } catch (SQLException failure) {
            spoiled = true;
        }
    }

    /** Notes that the session has settings that nobody else may get. No further statement is run on it. */
    public void spoil() {
        spoiled = true;
    }

    /** Whether the connection must not be used for anything else. */
    public boolean isSpoiled() {
        return spoiled;
    }

    // What is run in a transaction that has not ended would be reported to be done, and be undone with it.
    private void refuseIfSpoiled() throws SQLException {
        if (spoiled) {
            throw new SQLNonTransientConnectionException(
                    "The connection is not used any more, because a transaction on it could not be ended, or its"
                            + " settings could not be restored",
                    "08003");
        }
    }

    /** Runs a statement that has neither parameters nor rows. */
    public void execute(String sql) throws SQLException {
        update(sql, statement -> {});
    }

    public <T> T query(String sql, Binder binder, Reader<T> reader) throws SQLException {
        PreparedStatement statement = statement(sql);
        try {
            binder.bind(statement);
            try (ResultSet rows = statement.executeQuery()) {
                dialect.checkDone(statement);
                return reader.read(rows);
            }
        } finally {
            done(statement);
        }
    }

    public int update(String sql, Binder binder) throws SQLException {
        PreparedStatement statement = statement(sql);
        try {
            binder.bind(statement);
            int count = statement.executeUpdate();
            dialect.checkDone(statement);
            return count;
        } finally {
            done(statement);
        }
    }

    /**
     * Runs a statement that changes rows, and returns how many, whether the database counts the rows or returns
     * them.
     */
    public int change(String sql, Binder binder) throws SQLException {
        PreparedStatement statement = statement(sql);
        try {
            binder.bind(statement);
            boolean hasRows = statement.execute();
            dialect.checkDone(statement);
            if (!hasRows) {
                return statement.getUpdateCount();
            }
            int returned = 0;
            try (ResultSet rows = statement.getResultSet()) {
                while (rows.next()) {
                    returned++;
                }
            }
            return returned;
        } finally {
            done(statement);
        }
    }

    /** Runs a statement that changes one row and generates a key. Returns that key, or 0 if it changed no row. */
    public long generated(String sql, Binder binder) throws SQLException {
        refuseIfSpoiled();
        try (PreparedStatement statement = connection.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
            binder.bind(statement);
            if (statement.executeUpdate() == 0) {
                return 0;
            }
            try (ResultSet keys = statement.getGeneratedKeys()) {
                return keys.next() ? keys.getLong(1) : 0;
            }
        }
    }

    // Rows that somebody else wrote, with a name that no lock can have, are left out.
    private Page page(ResultSet rows) throws SQLException {
        Map<LockName, LockRow> found = new LinkedHashMap<>();
        long now = 0;
        long epoch = 0;
        int nameless = 0;
        String last = "";
        while (rows.next()) {
            now = rows.getLong(1);
            epoch = rows.getLong(2);
            try {
                last = dialect.names().text(rows, 3);
                LockRow row = row(rows);
                found.put(row.name(), row);
            } catch (IllegalArgumentException noName) {
                nameless++;
            }
        }
        return new Page(new Rows(found, now, epoch), found.size() + nameless, last);
    }

    private Rows rows(ResultSet rows) throws SQLException {
        return further(first(rows), false);
    }

    private ResultSet first(ResultSet rows) throws SQLException {
        if (!rows.next()) {
            throw dialect.noRow();
        }
        return rows;
    }

    /** What begins with the present row of the result. */
    private Rows further(ResultSet rows, boolean needConfirmation) throws SQLException {
        Map<LockName, LockRow> found = new LinkedHashMap<>();
        long now = rows.getLong(1);
        long epoch = rows.getLong(2);
        do {
            if (rows.getObject(3) != null) {
                LockRow row = row(rows);
                found.put(row.name(), row);
            }
        } while (rows.next());
        return new Rows(found, now, epoch, needConfirmation);
    }

    private LockRow row(ResultSet rows) throws SQLException {
        LockName name = dialect.readName(rows, 3);
        long version = rows.getLong(4);
        long counter = rows.getLong(5);
        int more = rows.getInt(14);
        if (!rows.getString(6).equals(dialect.clock())) {
            return LockRow.free(name, version, counter);
        }
        String others = more == 0 ? LockRow.NONE : rows.getString(15);
        String holder = rows.getString(7);
        if (holder.equals(LockRow.NONE)) {
            // The release of a sole holder leaves the other columns as they were.
            return new LockRow(name, version, counter, holder, 0, 0, 0, 0, LockRow.NEVER, LockRow.NONE, more, others);
        }
        return new LockRow(
                name,
                version,
                counter,
                holder,
                rows.getLong(8),
                rows.getInt(9),
                rows.getInt(10),
                rows.getLong(11),
                rows.getLong(12),
                rows.getString(13),
                more,
                others);
    }

    private PreparedStatement statement(String sql) throws SQLException {
        refuseIfSpoiled();
        PreparedStatement present = kept.get(sql);
        if (present != null) {
            return present;
        }
        PreparedStatement statement = connection.prepareStatement(sql);
        if (dialect.queryTimeoutSeconds() > 0) {
            statement.setQueryTimeout(dialect.queryTimeoutSeconds());
        }
        if (keep) {
            keep(sql, statement);
        }
        return statement;
    }

    private void keep(String sql, PreparedStatement statement) throws SQLException {
        kept.put(sql, statement);
        if (kept.size() > MOST_KEPT) {
            Iterator<PreparedStatement> oldest = kept.values().iterator();
            PreparedStatement ended = oldest.next();
            oldest.remove();
            ended.close();
        }
    }

    private void done(PreparedStatement statement) throws SQLException {
        if (!keep) {
            statement.close();
        }
    }

    static String marks(int count) {
        return String.join(", ", Collections.nCopies(count, "?"));
    }

    // Sizes are rounded up to powers of two, so that few different statements are prepared.
    public static int padded(int size) {
        return size <= 1 ? 1 : Integer.highestOneBit(size - 1) << 1;
    }

    @Override
    public void close() throws SQLException {
        for (PreparedStatement statement : kept.values()) {
            statement.close();
        }
        kept.clear();
    }
}
