/**
 * The port on Jedis, for one server, Sentinels, and a cluster: connections of our own or of the user's client, the
 * table of slots, the primary that the Sentinels name, and subscriptions. This package knows nothing about locks.
 */
@NullMarked
package dev.holdfast.redis.jedis;

import org.jspecify.annotations.NullMarked;
