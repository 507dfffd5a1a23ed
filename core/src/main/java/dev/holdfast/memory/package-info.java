/** The store in this JVM's memory: it obeys all laws, and is a test double for users. */
@NullMarked
package dev.holdfast.memory;

import org.jspecify.annotations.NullMarked;
