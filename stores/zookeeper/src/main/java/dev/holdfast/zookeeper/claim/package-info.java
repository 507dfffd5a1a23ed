/**
 * What this client knows of its claims, and how those end that their owner does not end: leases that run out, and nodes that
 * belong to no live claim.
 */
@NullMarked
package dev.holdfast.zookeeper.claim;

import org.jspecify.annotations.NullMarked;
