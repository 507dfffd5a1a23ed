/** The nodes of a lock as pure functions: their paths, names and data, and who of them holds. No I/O. */
@NullMarked
package dev.holdfast.zookeeper.node;

import org.jspecify.annotations.NullMarked;
