/** The options that several commands have, and how their values are read. */
@NullMarked
package dev.holdfast.cli.option;

import org.jspecify.annotations.NullMarked;
