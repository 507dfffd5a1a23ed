/** Stores around a store: one with a bad network in front of it, one that counts. */
@NullMarked
package dev.holdfast.testkit.fault;

import org.jspecify.annotations.NullMarked;
