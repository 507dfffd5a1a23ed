/** The API: distributed locks in the store that a program already uses. Begin with {@link dev.holdfast.Holdfast}. */
@NullMarked
package dev.holdfast;

import org.jspecify.annotations.NullMarked;
