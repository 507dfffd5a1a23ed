package dev.holdfast.jdbc.dialect;

import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import java.sql.SQLException;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * MariaDB, which can return the rows that it changed, and need not wait for any row.
 *
 * <p>A free lock is taken and released by plain updates where the sessions are our own, which wait for no locked row at all.
 * Through a derived table, as on MySQL, the server fills four temporary tables for the two statements, one of them on the disk because of the text
 * in it, and needs twice the time.
 */
public class MariaDbDialect extends MySqlDialect {

    // Each expression reads the counter as it was, in whatever order the columns are assigned.
    private static final String TAKE = """
            UPDATE holdfast_lock
            SET held = GREATEST(counter + 1, $epoch), counter = LAST_INSERT_ID(GREATEST(counter + 1, $epoch)),
              version = version + 1, clock = ?, holder = ?, permits = ?, capacity = ?, since = $now, expires = $now + ?,
              owner = ?, more = 0, others = '-'
            WHERE name = ? AND ((more = 0 AND expires <= $now) OR clock <> ?)
            """;

    // Each row that is selected, and thereby locked, exists already, so it is updated and no row is inserted.
    private static final String RENEW = """
            INSERT INTO holdfast_lock (name, version, counter, clock, holder, held, permits, capacity, since, expires, owner,
              more, others)
            SELECT k.name, k.version, k.counter, k.clock, k.holder, k.held, k.permits, k.capacity, k.since,
              GREATEST(k.expires, $now + c.lease), c.owner, k.more, k.others
            FROM (%s) AS c STRAIGHT_JOIN holdfast_lock AS k ON k.name = c.name
            WHERE k.holder = c.holder AND k.more = 0 AND k.expires > $now AND k.clock = ? FOR UPDATE SKIP LOCKED
            ON DUPLICATE KEY UPDATE version = holdfast_lock.version + 1, expires = VALUES(expires), owner = VALUES(owner)
            RETURNING name, holder, held, expires - $now
            """;

    // The same form as that of a renewal, because an UPDATE returns no rows. An empty string as a literal is
    // NULL in one mode of the server, and so is a text that is longer than a packet.
    private static final String JOIN = """
            INSERT INTO holdfast_lock (name, version, counter, clock, holder, held, permits, capacity, since, expires, owner,
              more, others)
            SELECT k.name, k.version, k.counter, k.clock, k.holder, k.held, k.permits, k.capacity, k.since, k.expires, k.owner,
              k.more, CONCAT(LEFT(k.others, IF(k.more = 0, 0, CHAR_LENGTH(k.others))),
                CONCAT_WS('\t', 'wait', c.id, $now, $now + c.ticket, c.permits, c.capacity, c.owner), '\n')
            FROM (
              SELECT CAST(? AS BINARY) AS name, CAST(? AS CHAR) AS clock, CAST(? AS CHAR) AS id, CAST(? AS SIGNED) AS permits,
                CAST(? AS SIGNED) AS capacity, CAST(? AS SIGNED) AS ticket, CAST(? AS CHAR) AS owner
            ) AS c STRAIGHT_JOIN holdfast_lock AS k ON k.name = c.name
            WHERE k.clock = c.clock AND k.expires > $now AND k.permits = k.capacity AND k.capacity = c.capacity
              AND k.holder <> c.id AND k.more < %d AND LOCATE(CONCAT('\t', c.id, '\t'), k.others) = 0
              AND LENGTH(k.others) < @@max_allowed_packet - 65536
            FOR UPDATE SKIP LOCKED
            ON DUPLICATE KEY UPDATE version = holdfast_lock.version + 1, more = holdfast_lock.more + 1,
              others = VALUES(others)
            RETURNING expires, more, others
            """.formatted(LockStore.MAX_QUEUE);

    private static final String HEAD = "SUBSTRING_INDEX(k.others, '\n', 1)";

    // An entry that cannot be read is left to a transition, which reports it.
    private static final String HAND_OVER = """
            INSERT INTO holdfast_lock (name, version, counter, clock, holder, held, permits, capacity, since, expires, owner,
              more, others)
            SELECT k.name, k.version, GREATEST(k.counter + 1, $epoch), k.clock, $id, GREATEST(k.counter + 1, $epoch),
              k.permits, k.capacity, $now, $now + LEAST(c.ticket, CAST($lease AS SIGNED)),
              SUBSTRING($head, CHAR_LENGTH(SUBSTRING_INDEX(k.others, '\t', 6)) + 2), k.more - 1,
              IF(k.more = 1, '-', SUBSTRING(k.others, CHAR_LENGTH($head) + 2))
            FROM (
              SELECT CAST(? AS BINARY) AS name, CAST(? AS CHAR) AS clock, CAST(? AS CHAR) AS holder, CAST(? AS SIGNED) AS ticket
            ) AS c STRAIGHT_JOIN holdfast_lock AS k ON k.name = c.name
            WHERE k.holder = c.holder AND k.more > 0 AND k.clock = c.clock AND k.expires > $now AND k.permits = k.capacity
              AND CASE WHEN k.others REGEXP
                  '^wait\t[A-Za-z0-9_-]{1,64}[.][0-9a-z]{1,13}\t[0-9]{1,18}\t[0-9]{1,18}\t[0-9]{1,9}\t[0-9]{1,9}\t[0-9]{1,18}\t'
                THEN CAST($ends AS SIGNED) > $now AND CAST($permits AS SIGNED) = k.permits
                  AND CAST($limit AS SIGNED) = k.capacity
                ELSE FALSE END
            FOR UPDATE SKIP LOCKED
            ON DUPLICATE KEY UPDATE version = holdfast_lock.version + 1, counter = VALUES(counter), holder = VALUES(holder),
              held = VALUES(held), since = VALUES(since), expires = VALUES(expires), owner = VALUES(owner),
              more = VALUES(more), others = VALUES(others)
            RETURNING holder, held, expires - since, more
            """.replace("$head", HEAD)
            .replace("$id", field(2))
            .replace("$ends", field(4))
            .replace("$permits", field(5))
            .replace("$limit", field(6))
            .replace("$lease", field(7));

    /** A field of the first entry, counted from 1. */
    private static String field(int number) {
        return "SUBSTRING_INDEX(SUBSTRING_INDEX(k.others, '\t', " + number + "), '\t', -1)";
    }

    private final boolean sessionsAreOurs;

    /** @param sessionsAreOurs whether their {@code innodb_lock_wait_timeout} is 0, as the URL has set it */
    public MariaDbDialect(String url, boolean sessionsAreOurs) {
        super(url, true); // its inserts bring their limits along
        this.sessionsAreOurs = sessionsAreOurs;
    }

    @Override
    public String product() {
        return "mariadb";
    }

    @Override
    void checkServer(String version, boolean isMaria, boolean isNewEnough) {
        if (!isMaria) {
            throw StoreException.refused(
                    url() + " is of version " + version + ", which is no MariaDB. Use the URL jdbc:mysql:...", null);
        }
        super.checkServer(version, true, isNewEnough);
    }

    @Override
    String noWait() {
        return "SET STATEMENT innodb_lock_wait_timeout = 0 FOR ";
    }

    @Override
    long takeKnown(LockStatements statements, Claim claim) throws SQLException {
        if (!sessionsAreOurs) {
            return super.takeKnown(statements, claim);
        }
        return statements.generated(sql(TAKE), statement -> bindTake(statement, claim));
    }

    @Override
    public String releaseSole() {
        return sessionsAreOurs ? LockStatements.RELEASE_SOLE : super.releaseSole();
    }

    @Override
    public String impatient(String sql) {
        return "SET STATEMENT lock_wait_timeout = 0 FOR " + sql;
    }

    // Another client may be inserting the same row, in a transaction that does not end. The transition tries
    // again for a while; the shortest wait of the server's would be a second.
    @Override
    public String insert() {
        return noWait() + super.insert();
    }

    @Override
    public boolean hasQueueStatements() {
        return true;
    }

    @Override
    public boolean transitionFollows() {
        return true;
    }

    @Override
    public String join() {
        return JOIN;
    }

    @Override
    public String handOver() {
        return HAND_OVER;
    }

    @Override
    public void renewSole(LockStatements statements, List<Claim> claims, Map<ClaimId, Granted> renewed)
            throws SQLException {
        int size = LockStatements.padded(claims.size());
        String union = String.join(" UNION ALL ", Collections.nCopies(size, CLAIM));
        statements.query(
                sql(RENEW.formatted(union)),
                statement -> bindClaims(statement, claims, size),
                rows -> LockStatements.renewed(rows, renewed));
    }
}
