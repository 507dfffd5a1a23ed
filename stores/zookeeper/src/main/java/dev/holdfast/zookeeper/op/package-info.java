/** The operations of the store, one class for each, and the objects that they share. */
@NullMarked
package dev.holdfast.zookeeper.op;

import org.jspecify.annotations.NullMarked;
