/**
 * What a backend implements: {@link dev.holdfast.spi.LockStore} and its value types. A store grants weighted claims
 * on names; the engine does everything else. Nothing in this package depends on the rest of Holdfast.
 */
@NullMarked
package dev.holdfast.spi;

import org.jspecify.annotations.NullMarked;
