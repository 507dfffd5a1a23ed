/** The servers that are measured, set up with the durability that one would use in production. */
@NullMarked
package dev.holdfast.benchmarks.server;

import org.jspecify.annotations.NullMarked;
