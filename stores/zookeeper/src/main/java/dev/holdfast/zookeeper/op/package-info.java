/** The operations of the store, one class for each, and what they share. */
@NullMarked
package dev.holdfast.zookeeper.op;

import org.jspecify.annotations.NullMarked;
