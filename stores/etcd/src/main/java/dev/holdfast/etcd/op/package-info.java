/** The operations of the store, one class for each. */
@NullMarked
package dev.holdfast.etcd.op;

import org.jspecify.annotations.NullMarked;
