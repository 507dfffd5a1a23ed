/**
 * The engine: local queues, re-entry, waiting, renewal, loss and events, written once for all stores.
 *
 * <p>A map for maintainers, from the outside in:
 *
 * <ul>
 *   <li>{@code ThreadLock}, {@code ReadWriteLocks}, {@code LeaseSemaphore}, {@code MultiLock}: the API's faces. Each asks
 *       with a constant {@code Request}.
 *   <li>{@code Resource}: one per name in use; the local queue of {@code Waiter}s, the {@code Grant}s that this JVM has and
 *       the {@code Hold}s that share them. Its mutex guards all of these and is never held during I/O or user code.
 *   <li>{@code Contender}: the claim with which a resource waits in the store.
 *   <li>{@code Renewals}: one thread, one batch for everything that must be renewed. {@code Timer}: one thread that does no
 *       I/O and declares losses. {@code Releases}: releases, repeated until their outcome is known.
 * </ul>
 *
 * <p>Times in here are {@code long} nanoseconds since the engine's start, so that they compare with {@code <}.
 */
@NullMarked
package dev.holdfast.internal;

import org.jspecify.annotations.NullMarked;
