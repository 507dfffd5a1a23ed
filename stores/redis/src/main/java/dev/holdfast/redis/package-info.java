/**
 * Locks in Redis: one server, the primary that Sentinels name, or a cluster ({@code redis://}, {@code rediss://},
 * {@code redis-sentinel://}, {@code rediss-sentinel://}).
 *
 * <p>One hash holds the grants of a lock. Four more keys hold its queue and its tombstones while there are any.
 * Scripts inside the server change them; each transition is one script, which reads the server's clock once.
 *
 * <p>With {@code layout=plain}, and on Tair ({@code tair://}), an exclusive lock is the string of {@code SET NX PX}
 * instead, and with {@code layout=redisson} the hash of Redisson's {@code RLock}. So it and the locks of programs without
 * Holdfast exclude each other. There is no queue then: the guarantees below hold except for the order of the waiters, and
 * other programs may write keys with the prefix.
 *
 * <table>
 * <caption>What may be relied on</caption>
 * <tr><th>Guarantees</th><th>Not guaranteed</th><th>Assumptions</th></tr>
 * <tr>
 * <td>At no moment do the live grants of a name exceed its limit, on the server's clock.</td>
 * <td>Anything across a fail-over to a replica that missed writes, or a restart that lost them: two owners may hold
 *     the lock then. The option replicas makes that unlikely. Check the fencing token where an owner writes, or use
 *     a quorum.</td>
 * <td>Only one server at a time keeps the data of a lock. It keeps the data across a restart if leases are to
 *     survive one. The clocks of a primary and its replicas agree within the margin.</td>
 * </tr>
 * <tr>
 * <td>Waiters are served in order of arrival, across processes. A waiter that cannot be notified because its
 *     connection is lost is skipped, and keeps its position until its ticket expires.</td>
 * <td>That a push arrives: it is a hint. A waiter that missed it learns of its grant with its next refresh.</td>
 * <td>A waiter's process runs: a frozen process keeps a grant that it receives for its ticket's time to live.</td>
 * </tr>
 * <tr>
 * <td>Tokens grow through release, expiry, removal of idle records, and the loss of all data.</td>
 * <td>That tokens are without gaps; that they grow if both the data and the clock go back.</td>
 * <td>The server's wall clock does not go back by more than the period for which data were lost. Steps forward end
 *     leases early, steps back lengthen them.</td>
 * </tr>
 * <tr>
 * <td>Each call ends within {@code StoreTraits.callTimeout()}, and its failure states whether it may have had an
 *     effect.</td>
 * <td>That a call has a known outcome while the server is frozen: it ends with effect UNKNOWN.</td>
 * <td>Only Holdfast writes keys that begin with the prefix, and they are not evicted:
 *     {@code maxmemory-policy noeviction}, or a database of their own.</td>
 * </tr>
 * </table>
 */
@NullMarked
package dev.holdfast.redis;

import org.jspecify.annotations.NullMarked;
