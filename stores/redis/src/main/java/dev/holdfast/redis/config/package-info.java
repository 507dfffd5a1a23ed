/**
 * The configuration: the options, the URL they are read from, and the layout of the keys. This package uses no
 * other package of the store.
 */
@NullMarked
package dev.holdfast.redis.config;

import org.jspecify.annotations.NullMarked;
