/** {@code holdfast demo}. */
@NullMarked
package dev.holdfast.cli.demo;

import org.jspecify.annotations.NullMarked;
