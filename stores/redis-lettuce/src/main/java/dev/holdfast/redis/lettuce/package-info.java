/**
 * Locks in Redis through Lettuce, for those who have Lettuce already: the store of {@link dev.holdfast.redis} on
 * another client library. Guarantees, records and scripts are the same.
 *
 * <p>Lettuce shares one connection among all callers and answers on threads of its own, which costs two thread
 * switches for each call whose caller waits; {@code redis://}, on Jedis, avoids them.
 */
@NullMarked
package dev.holdfast.redis.lettuce;

import org.jspecify.annotations.NullMarked;
