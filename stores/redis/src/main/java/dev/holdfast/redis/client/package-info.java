/**
 * What the store needs of a client library ({@link dev.holdfast.redis.client.RedisPort}), and what is sent over it:
 * scripts, their calls, the hash slot of a key, and the translation of the server's errors. This package uses no
 * other package of the store.
 */
@NullMarked
package dev.holdfast.redis.client;

import org.jspecify.annotations.NullMarked;
