/**
 * The layouts {@code plain} and {@code tair}: an exclusive lock is the string that {@code SET NAME VALUE NX PX} makes, released
 * and renewed by the best command that the server has. It uses what the default layout has for the same purpose.
 */
@NullMarked
package dev.holdfast.redis.plain;

import org.jspecify.annotations.NullMarked;
