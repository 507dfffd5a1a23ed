/**
 * Protection in a program's own database against a holder that was paused for too long. Fences ({@link
 * dev.holdfast.fence.jdbc.JdbcFence}, {@link dev.holdfast.fence.jdbc.FencedTable}) make its late writes fail,
 * whatever store the lock is in; {@link dev.holdfast.fence.jdbc.OptimisticUpdate} needs no lock at all. Nothing here
 * holds a lock. This package reads the rows of {@link dev.holdfast.jdbc} where a lock must be live inside the
 * program's own transaction.
 */
@NullMarked
package dev.holdfast.fence.jdbc;

import org.jspecify.annotations.NullMarked;
