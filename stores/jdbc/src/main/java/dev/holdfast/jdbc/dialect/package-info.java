/** One dialect for each database product, and the base classes of those that have things in common. */
@NullMarked
package dev.holdfast.jdbc.dialect;

import org.jspecify.annotations.NullMarked;
