/** The configuration of the store: the options, and the URL that they are read from. */
@NullMarked
package dev.holdfast.memcached.config;

import org.jspecify.annotations.NullMarked;
