/**
 * The options of a store in a database, as they are given in its URL. This package uses no other package of this
 * store.
 */
@NullMarked
package dev.holdfast.jdbc.config;

import org.jspecify.annotations.NullMarked;
