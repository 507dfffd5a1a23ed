/**
 * Locks in a ZooKeeper ensemble ({@code zookeeper://}).
 *
 * <p>Each lock is a parent node, and each claim is an ephemeral sequential child of it, named as Curator's recipes
 * name their nodes. The order of the children is the queue. Counted from the first, as many children hold the lock
 * as fit within its limit. ZooKeeper deletes the nodes of a client when its session ends.
 *
 * <table>
 * <caption>Guarantees and assumptions</caption>
 * <tr><th>Guarantees</th><th>Not guaranteed</th><th>Assumptions</th></tr>
 * <tr>
 * <td>At no moment do more nodes hold than the limit allows, and all clients see the same holders.</td>
 * <td>That a holder stops when its session ends. A holder learns of the end by its own clock, two fifths of the
 *     session time-out after it sent the last request that the leader answered. Check the fencing token where a
 *     paused holder may write.</td>
 * <td>Clocks of client and servers run at rates that differ by less than 1 %.</td>
 * </tr>
 * <tr>
 * <td>First come, first served; this includes clients that use Curator's recipes on the same path.</td>
 * <td>That Curator's clients respect the kinds that Curator does not know: semaphores and wait sets.</td>
 * <td>No other program writes below the parent node of a lock.</td>
 * </tr>
 * <tr>
 * <td>Tokens grow unless the whole ensemble is lost: the counter is the zxid of the transaction that created the
 *     node.</td>
 * <td>That tokens have no gaps, or still grow after the ensemble was wiped.</td>
 * <td>An ensemble keeps its data.</td>
 * </tr>
 * <tr>
 * <td>A dead client loses its locks and queue positions when its session ends.</td>
 * <td>An earlier end for a single claim of a dead client: the client itself ends leases that are shorter than the
 *     session.</td>
 * <td></td>
 * </tr>
 * </table>
 */
@NullMarked
package dev.holdfast.zookeeper;

import org.jspecify.annotations.NullMarked;
