/**
 * The API: a distributed lock over the store that a program already runs. Begin with {@link dev.holdfast.Holdfast}.
 */
@NullMarked
package dev.holdfast;

import org.jspecify.annotations.NullMarked;
