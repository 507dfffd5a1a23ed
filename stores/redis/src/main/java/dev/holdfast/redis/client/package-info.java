/**
 * What the store needs of a client library ({@link dev.holdfast.redis.client.RedisPort}), and what is sent over it: scripts,
 * their calls, the hash slot of a key, the meaning of the server's errors. It uses nothing else of this store.
 */
@NullMarked
package dev.holdfast.redis.client;

import org.jspecify.annotations.NullMarked;
