/**
 * The table of the locks as one connection sees it: the rows and their text format, the statements, the caches of
 * rows and entries, and the removal of idle rows. What differs from database to database is in a {@link
 * dev.holdfast.jdbc.row.Dialect}.
 */
@NullMarked
package dev.holdfast.jdbc.row;

import org.jspecify.annotations.NullMarked;
