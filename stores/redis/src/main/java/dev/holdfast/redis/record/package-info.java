/**
 * The default layout: each name has one record, and scripts change it. Claims become arguments of scripts here, and replies
 * become answers; the waiters of this client and their channels are kept here. It knows no client library.
 */
@NullMarked
package dev.holdfast.redis.record;

import org.jspecify.annotations.NullMarked;
