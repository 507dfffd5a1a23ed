/** The command line tool. */
@NullMarked
package dev.holdfast.cli;

import org.jspecify.annotations.NullMarked;
