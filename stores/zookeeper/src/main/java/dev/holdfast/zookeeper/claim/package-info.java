/**
 * The claims of this client and their state. Also ends what the owner does not end: leases that expire, and
 * orphans, which are nodes that belong to no live claim.
 */
@NullMarked
package dev.holdfast.zookeeper.claim;

import org.jspecify.annotations.NullMarked;
