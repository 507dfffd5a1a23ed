/** {@code holdfast run}: takes the lock, runs the command, ends it before somebody else can hold the lock. */
@NullMarked
package dev.holdfast.cli.run;

import org.jspecify.annotations.NullMarked;
