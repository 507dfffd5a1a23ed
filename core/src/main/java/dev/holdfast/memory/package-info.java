/** The store in this JVM's memory: the executable model of the laws, and a test double for users. */
@NullMarked
package dev.holdfast.memory;

import org.jspecify.annotations.NullMarked;
