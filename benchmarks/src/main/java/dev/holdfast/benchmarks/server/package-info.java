/** The servers that are measured, set up as one would run them in production as far as durability goes. */
@NullMarked
package dev.holdfast.benchmarks.server;

import org.jspecify.annotations.NullMarked;
