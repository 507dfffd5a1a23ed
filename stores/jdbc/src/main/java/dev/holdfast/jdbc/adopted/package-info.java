/**
 * Locks that are shared with programs which keep them in a table of their own: a row that is inserted and deleted, or a
 * flag that is updated.
 */
@NullMarked
package dev.holdfast.jdbc.adopted;

import org.jspecify.annotations.NullMarked;
