/** Stores that wrap another store: one simulates a bad network, one counts the calls. */
@NullMarked
package dev.holdfast.testkit.fault;

import org.jspecify.annotations.NullMarked;
