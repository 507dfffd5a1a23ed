/**
 * Locks in etcd ({@code etcd://}, {@code etcds://}).
 *
 * <p>A claim is one key, put in one transaction and deleted in another. The queue is the order in which keys were
 * created.
 *
 * <table>
 * <caption>What may be relied on</caption>
 * <tr><th>Guarantees</th><th>Not guaranteed</th><th>Assumptions</th></tr>
 * <tr>
 * <td>At no moment do the live grants of a name exceed its limit, as long as the cluster keeps a majority of its
 *     data.</td>
 * <td>That a frozen holder notices in time that its session is over. Check the fencing token where a holder
 *     writes.</td>
 * <td>etcd is strictly serialisable, and ends no lease before its time to live.</td>
 * </tr>
 * <tr>
 * <td>Waiters are served in the order in which their keys were created, across processes and kinds of clients.</td>
 * <td>That a dead client's claims are gone sooner than its session.</td>
 * <td>The client's monotonic clock and the servers' run at rates that differ by less than a hundredth.</td>
 * </tr>
 * <tr>
 * <td>Tokens grow through release, expiry, restart and fail-over: they are create revisions.</td>
 * <td>That they grow if the cluster is created again or restored from a backup.</td>
 * <td>Keys that begin with the prefix are written by lock clients only.</td>
 * </tr>
 * <tr>
 * <td>Each call ends within {@code StoreTraits.callTimeout()}, and its failure says whether it may have had an
 *     effect.</td>
 * <td>That a grant is valid for longer than the session without a renewal, whatever its lease is.</td>
 * <td>A lease shorter than the session is enforced by the client, which deletes the key when the lease is over.</td>
 * </tr>
 * </table>
 */
@NullMarked
package dev.holdfast.etcd;

import org.jspecify.annotations.NullMarked;
