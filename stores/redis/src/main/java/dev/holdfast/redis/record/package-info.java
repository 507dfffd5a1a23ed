/**
 * The default layout: each name has one record, and scripts change it. This package turns claims into arguments of
 * scripts and replies into answers, and keeps the waiters of this client and their channels. It knows no client
 * library.
 */
@NullMarked
package dev.holdfast.redis.record;

import org.jspecify.annotations.NullMarked;
