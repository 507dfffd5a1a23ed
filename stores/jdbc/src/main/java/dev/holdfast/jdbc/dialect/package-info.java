/** One class for each database product, and what several of them have in common. */
@NullMarked
package dev.holdfast.jdbc.dialect;

import org.jspecify.annotations.NullMarked;
