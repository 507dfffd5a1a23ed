/** Compares the table that the store requires with the table that the database has, and creates missing tables. */
@NullMarked
package dev.holdfast.jdbc.schema;

import org.jspecify.annotations.NullMarked;
