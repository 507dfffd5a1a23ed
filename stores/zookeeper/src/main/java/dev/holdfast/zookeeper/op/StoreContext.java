package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.zookeeper.claim.ClaimTable;
import dev.holdfast.zookeeper.claim.LeaseExpiry;
import dev.holdfast.zookeeper.claim.OrphanCleaner;
import dev.holdfast.zookeeper.node.ZnodePaths;
import dev.holdfast.zookeeper.session.Sessions;
import dev.holdfast.zookeeper.session.Timer;
import java.util.List;
import org.apache.zookeeper.data.ACL;

/**
 * What the parts of one store share.
 *
 * @param sessions the connection
 * @param paths where the locks are
 * @param acl the rights on what is made
 * @param clock the time
 * @param places the claims of this client
 * @param leftovers nodes that are to be removed
 * @param leases ends what is held when its lease is over
 * @param timer does things later
 */
public record StoreContext(
        Sessions sessions,
        ZnodePaths paths,
        List<ACL> acl,
        MonotonicClock clock,
        ClaimTable places,
        OrphanCleaner leftovers,
        LeaseExpiry leases,
        Timer timer) {

    long now() {
        return clock.nanoTime();
    }
}
