/**
 * What a backend implements: {@link dev.holdfast.spi.LockStore} and its value types. A store grants weighted claims on
 * names; everything else is the engine's. Nothing here depends on the rest of Holdfast.
 */
@NullMarked
package dev.holdfast.spi;

import org.jspecify.annotations.NullMarked;
