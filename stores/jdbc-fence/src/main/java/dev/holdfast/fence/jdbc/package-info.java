/**
 * What a program's own database can do against a holder that was paused for too long: fences ({@link
 * dev.holdfast.fence.jdbc.JdbcFence}, {@link dev.holdfast.fence.jdbc.FencedTable}) make its late writes fail, whatever store
 * the lock is in; {@link dev.holdfast.fence.jdbc.OptimisticUpdate} needs no lock at all. Nothing here holds a lock. It reads
 * the rows of {@link dev.holdfast.jdbc} where a lock must be live inside the program's own transaction.
 */
@NullMarked
package dev.holdfast.fence.jdbc;

import org.jspecify.annotations.NullMarked;
