/**
 * Locks in Memcached ({@code memcached://}, {@code memcacheds://}).
 *
 * <p>The whole state of a name is one value, which is written by {@code add} and compare-and-set only.
 *
 * <table>
 * <caption>What may be relied on</caption>
 * <tr><th>Guarantees</th><th>Not guaranteed</th><th>Assumptions</th></tr>
 * <tr>
 * <td>At no moment do the live grants of a name exceed its limit, as long as the server keeps the values.</td>
 * <td>That it keeps them: a restart, {@code flush_all} and eviction for want of memory free locks that are held. The
 *     holder notices at its next renewal. Check the fencing token where a holder writes.</td>
 * <td>The server has memory to spare, and is used for locks only, or runs with {@code -M}.</td>
 * </tr>
 * <tr>
 * <td>Tokens grow through release, expiry, eviction and restart: they are the server's own numbers of values.</td>
 * <td>That they grow if the wall clock of the server was set back before it is started again.</td>
 * <td>The server stores fewer than a million values a second on average.</td>
 * </tr>
 * <tr>
 * <td>A grant ends no earlier than its lease, by the server's clock, which has no sub-seconds.</td>
 * <td>That it ends sooner than three or, where several hold, four seconds after its lease.</td>
 * <td>The server's timer is late by less than a quarter of a second when a request is handled. After a freeze it is
 *     late by the whole freeze for a moment.</td>
 * </tr>
 * <tr>
 * <td>Each call ends within {@code StoreTraits.callTimeout()}, and its failure says whether it may have had an
 *     effect.</td>
 * <td>Any order among those who wait: there is no queue, and waiters try again.</td>
 * <td>Keys that begin with the prefix are written by Holdfast only.</td>
 * </tr>
 * </table>
 */
@NullMarked
package dev.holdfast.memcached;

import org.jspecify.annotations.NullMarked;
