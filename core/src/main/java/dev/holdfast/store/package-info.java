/**
 * Helpers that several stores use: the state of one resource as a state machine without I/O ({@link
 * dev.holdfast.store.ResourceRecord}), the execution of blocking calls, time limits, the bounds of every call, and
 * the options of a store's URL. This package uses {@link dev.holdfast.spi} only.
 */
@NullMarked
package dev.holdfast.store;

import org.jspecify.annotations.NullMarked;
