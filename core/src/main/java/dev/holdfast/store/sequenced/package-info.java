/**
 * What stores share whose claims are entries of a queue that the servers number, and that belong to sessions: ZooKeeper and
 * etcd. The rules of such a queue ({@link dev.holdfast.store.sequenced.SequencedQueue}), which are pure functions of its
 * entries, and the claims that must not be acquired any more ({@link dev.holdfast.store.sequenced.Tombstones}).
 */
@NullMarked
package dev.holdfast.store.sequenced;

import org.jspecify.annotations.NullMarked;
