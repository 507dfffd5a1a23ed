/** The store in this JVM's memory: the executable model of the laws, and the users' test double. */
@NullMarked
package dev.holdfast.memory;

import org.jspecify.annotations.NullMarked;
