/** The command as a process: found, started with a group of its own, signalled, and never left behind. */
@NullMarked
package dev.holdfast.cli.process;

import org.jspecify.annotations.NullMarked;
