/** {@code holdfast elect}: runs a command while this process is the leader, and shows who leads. */
@NullMarked
package dev.holdfast.cli.elect;

import org.jspecify.annotations.NullMarked;
