/** The table that the store requires, the table that the database has, and what is done about the difference. */
@NullMarked
package dev.holdfast.jdbc.schema;

import org.jspecify.annotations.NullMarked;
