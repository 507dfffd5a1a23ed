/**
 * The table of the locks as one connection sees it: the rows and their text, the statements, what is remembered of rows, and the
 * removal of idle ones. What differs from database to database is a {@link dev.holdfast.jdbc.row.Dialect}.
 */
@NullMarked
package dev.holdfast.jdbc.row;

import org.jspecify.annotations.NullMarked;
