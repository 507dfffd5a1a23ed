/**
 * Locks in Redis: one server, the primary that Sentinels name, or a cluster ({@code redis://}, {@code rediss://}, {@code
 * redis-sentinel://}, {@code rediss-sentinel://}).
 *
 * <p>One hash holds the grants of a lock, and four more keys its queue and its tombstones while there are any. Scripts inside
 * the server change them; each transition is one script, and reads the server's clock once.
 *
 * <p>With {@code layout=plain}, and on Tair ({@code tair://}), an exclusive lock is the string of {@code SET NX PX} instead, so that
 * it and locks of programs without Holdfast exclude each other. There is no queue then; the guarantees below hold but for the
 * order of the waiters, and keys with the prefix may be written by others.
 *
 * <table>
 * <caption>What may be relied on</caption>
 * <tr><th>Guarantees</th><th>Not guaranteed</th><th>Assumptions</th></tr>
 * <tr>
 * <td>At no moment do the live grants of a name exceed its limit, on the server's clock.</td>
 * <td>Anything across a fail-over to a replica that missed writes, or a restart that lost them: two may hold then. The option
 *     replicas makes that unlikely. Check the fencing token where a holder writes, or use a quorum.</td>
 * <td>One server at a time keeps the data of a lock, and keeps them over a restart if leases are to survive one. The clocks of a
 *     primary and its replicas agree within the margin.</td>
 * </tr>
 * <tr>
 * <td>Waiters are served first come, first served, across processes. One that cannot be told because its connection is gone is
 *     passed over, and keeps its place until its ticket runs out.</td>
 * <td>That a push arrives: it is a hint, and a waiter that missed it learns of its grant with its next refresh.</td>
 * <td>A waiter's process runs: one that is frozen keeps a grant that it is handed for its ticket's time to live.</td>
 * </tr>
 * <tr>
 * <td>Tokens grow through release, expiry, removal of idle records, and the loss of all data.</td>
 * <td>That tokens are without gaps; that they grow if data and clock go back at once.</td>
 * <td>The server's wall clock does not go back by more than its data were lost for. Steps forward end leases early, steps back
 *     lengthen them.</td>
 * </tr>
 * <tr>
 * <td>Each call ends within {@code StoreTraits.callTimeout()}, and its failure says whether it may have had an effect.</td>
 * <td>That a call has an outcome while the server is frozen: it ends with effect UNKNOWN.</td>
 * <td>Keys that begin with the prefix are written by Holdfast only, and not evicted: {@code maxmemory-policy noeviction}, or a
 *     database of its own.</td>
 * </tr>
 * </table>
 */
@NullMarked
package dev.holdfast.redis;

import org.jspecify.annotations.NullMarked;
