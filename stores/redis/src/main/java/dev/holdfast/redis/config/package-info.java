/**
 * What can be set: the options, the URL they are read from, and the layout of the keys. It uses nothing else of this store.
 */
@NullMarked
package dev.holdfast.redis.config;

import org.jspecify.annotations.NullMarked;
