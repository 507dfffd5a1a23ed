/**
 * What authors of stores share: the state of one resource as a machine without I/O
 * ({@link dev.holdfast.store.ResourceRecord}), where blocking calls are made, limits of time, the bounds of every call, and the
 * options of a store's URL. It uses {@link dev.holdfast.spi} only.
 */
@NullMarked
package dev.holdfast.store;

import org.jspecify.annotations.NullMarked;
