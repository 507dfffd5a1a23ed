/**
 * Locks kept in the rows of a database: SQLite ({@code sqlite:PATH}), PostgreSQL, MariaDB, MySQL, H2 ({@code
 * jdbc:...}), and any other whose clock is given by an option; {@code JdbcLockStore.over} uses a pool of the user's.
 * The module {@code holdfast-jdbc-fence} makes the writes of a stale holder fail in a program's own tables.
 *
 * <p>One row holds the whole state of one lock, and {@link dev.holdfast.store.ResourceRecord} says how it changes. A database
 * adds three things: one change of a row at a time, a clock, and the fact that a row outlives a process. What differs from
 * database to database is in a {@code Dialect}.
 *
 * <table>
 * <caption>What may be relied on</caption>
 * <tr><th>Guarantees</th><th>Not guaranteed</th><th>Assumptions</th></tr>
 * <tr>
 * <td>At no moment do the live grants of a name exceed its limit, on the database's clock. Each change is one statement, or
 *     one that is made only if the row is as it was read.</td>
 * <td>That a holder which is frozen beyond its lease stops working: check the fencing token where it writes.</td>
 * <td>SQLite: all processes are on one host, in one time namespace, and the file is on a local disk. The others: the wall
 *     clock of the database's host does not step forward by more than a lease, and no commit is lost.</td>
 * </tr>
 * <tr>
 * <td>Waiters are served first come, first served, also across processes.</td>
 * <td>That a waiter in another process is notified of its grant at once: PostgreSQL
 *     notifies it, else it polls, and a notification may be lost.</td>
 * <td>A waiter's process runs: one that is frozen keeps its position in the queue, and a grant that it is handed,
 *     only for the time to live of its ticket.</td>
 * </tr>
 * <tr>
 * <td>Tokens grow through release, expiry, restart of all processes, and removal of idle rows.</td>
 * <td>That tokens are without gaps.</td>
 * <td>The wall clock does not go back by more than an idle row is kept (30 days).</td>
 * </tr>
 * <tr>
 * <td>SQLite: a step of the wall clock ends nothing; a reboot ends everything.</td>
 * <td>SQLite: that the time for which the host was suspended counts.</td>
 * <td>Nobody removes or replaces the file, or writes into the tables, while processes use them.</td>
 * </tr>
 * <tr>
 * <td>Each call ends within {@code StoreTraits.callTimeout()}, and its failure says whether it may have had an effect.</td>
 * <td>Progress while a process is stopped in the middle of writing to a file of SQLite: the calls of all others fail
 *     because the file is busy, and leases end.</td>
 * <td>The disk answers. A call that hangs in the kernel cannot be ended from outside.</td>
 * </tr>
 * </table>
 */
@NullMarked
package dev.holdfast.jdbc;

import org.jspecify.annotations.NullMarked;
