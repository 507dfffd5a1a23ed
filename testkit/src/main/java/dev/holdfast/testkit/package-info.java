/** The tests that every store must pass, and the tools that they use. */
@NullMarked
package dev.holdfast.testkit;

import org.jspecify.annotations.NullMarked;
