/**
 * Locks in a ZooKeeper ensemble ({@code zookeeper://}).
 *
 * <p>Each lock is a folder, each claim an ephemeral sequential node in it, named as Curator's recipes name theirs. The order of
 * the nodes is the queue, and as many from the first on as fit together hold. ZooKeeper removes the nodes of a client whose
 * session ends.
 *
 * <table>
 * <caption>What may be relied on</caption>
 * <tr><th>Guarantees</th><th>Not guaranteed</th><th>Assumptions</th></tr>
 * <tr>
 * <td>At no moment do more nodes hold than fit, and each client sees the same.</td>
 * <td>That a holder stops when its session ends: it knows by its own clock, two fifths of the session's time-out after its last
 *     request that the leader answered. Check the fencing token where a paused holder may write.</td>
 * <td>Clocks of client and servers run at rates that differ by less than 1 %.</td>
 * </tr>
 * <tr>
 * <td>First come, first served, also among clients of Curator's recipes on the same path.</td>
 * <td>That Curator's clients heed the kinds that it does not know: semaphores and wait sets.</td>
 * <td>Nobody else writes below the folder of a lock.</td>
 * </tr>
 * <tr>
 * <td>Tokens grow through everything but the loss of the whole ensemble: the counter is the zxid that created the node.</td>
 * <td>That they are without gaps, or grow after the ensemble was wiped.</td>
 * <td>An ensemble keeps its data.</td>
 * </tr>
 * <tr>
 * <td>A dead client is passed over when its session ends.</td>
 * <td>A shorter time for a single claim of a dead client: leases shorter than the session are kept by the client itself.</td>
 * <td></td>
 * </tr>
 * </table>
 */
@NullMarked
package dev.holdfast.zookeeper;

import org.jspecify.annotations.NullMarked;
