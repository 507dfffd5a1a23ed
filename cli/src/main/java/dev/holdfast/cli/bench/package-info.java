/** {@code holdfast bench}. */
@NullMarked
package dev.holdfast.cli.bench;

import org.jspecify.annotations.NullMarked;
