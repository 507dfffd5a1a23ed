/** The queue of a name as pure functions: its keys, their values, and who of them holds. No I/O. */
@NullMarked
package dev.holdfast.etcd.queue;

import org.jspecify.annotations.NullMarked;
