/** The tests that every store passes, and the tools they are made of. */
@NullMarked
package dev.holdfast.testkit;

import org.jspecify.annotations.NullMarked;
