/** {@code holdfast show}, {@code list}, {@code break} and {@code schema}. */
@NullMarked
package dev.holdfast.cli.inspect;

import org.jspecify.annotations.NullMarked;
