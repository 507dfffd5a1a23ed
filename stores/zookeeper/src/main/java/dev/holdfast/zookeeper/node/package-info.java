/**
 * Pure functions on the nodes of a lock: their paths, names and data, and which of them hold. This package does no
 * I/O.
 */
@NullMarked
package dev.holdfast.zookeeper.node;

import org.jspecify.annotations.NullMarked;
