/** The queue of a name as pure functions: its keys, their values, and which claims hold. No I/O. */
@NullMarked
package dev.holdfast.etcd.queue;

import org.jspecify.annotations.NullMarked;
