package dev.holdfast.zookeeper;

import dev.holdfast.spi.MonotonicClock;
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
record Site(
        Sessions sessions,
        LockPaths paths,
        List<ACL> acl,
        MonotonicClock clock,
        Places places,
        Leftovers leftovers,
        LeaseEnds leases,
        Timer timer) {

    long now() {
        return clock.nanoTime();
    }
}
