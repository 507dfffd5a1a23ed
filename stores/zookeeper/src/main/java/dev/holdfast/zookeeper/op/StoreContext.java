package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.LossListeners;
import dev.holdfast.zookeeper.claim.ClaimTable;
import dev.holdfast.zookeeper.claim.LeaseExpiry;
import dev.holdfast.zookeeper.claim.NodeWatches;
import dev.holdfast.zookeeper.claim.OrphanCleaner;
import dev.holdfast.zookeeper.node.ZnodePaths;
import dev.holdfast.zookeeper.session.Sessions;
import dev.holdfast.zookeeper.session.Timer;
import java.util.List;
import org.apache.zookeeper.data.ACL;

/**
 * The objects that all operations of one store share.
 *
 * @param sessions the current session
 * @param paths the paths of the locks
 * @param acl the access rights on created nodes
 * @param clock the clock for leases
 * @param claims the claims of this client
 * @param watches the watches on nodes of claims
 * @param losses is notified when a claim that holds is gone
 * @param orphans deletes nodes that belong to no live claim
 * @param leaseExpiry ends grants when their leases expire
 * @param timer runs tasks after a delay
 */
public record StoreContext(
        Sessions sessions,
        ZnodePaths paths,
        List<ACL> acl,
        MonotonicClock clock,
        ClaimTable claims,
        NodeWatches watches,
        LossListeners losses,
        OrphanCleaner orphans,
        LeaseExpiry leaseExpiry,
        Timer timer) {

    long now() {
        return clock.nanoTime();
    }
}
