/** The options of a store in a database, as its URL has them. It uses nothing else of this store. */
@NullMarked
package dev.holdfast.jdbc.config;

import org.jspecify.annotations.NullMarked;
