/**
 * The port on Jedis, for one server, Sentinels, and a cluster: connections of our own or of a client of the user's, the table of
 * slots, the primary that the Sentinels name, and subscriptions. Nothing of the locks is known here.
 */
@NullMarked
package dev.holdfast.redis.jedis;

import org.jspecify.annotations.NullMarked;
