/**
 * The layouts {@code plain}, {@code mixed} and {@code tair}: an exclusive lock is the string that
 * {@code SET NAME VALUE NX PX} makes, released and renewed by the best command that the server has. And the layout
 * {@code redisson}: it is the hash of Redisson's {@code RLock}. This package reuses parts of the default layout.
 */
@NullMarked
package dev.holdfast.redis.plain;

import org.jspecify.annotations.NullMarked;
