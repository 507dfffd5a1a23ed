/** One lock over several independent stores: a claim holds when a majority of them has granted it (Redlock). */
@NullMarked
package dev.holdfast.quorum;

import org.jspecify.annotations.NullMarked;
