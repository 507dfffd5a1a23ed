/** What is measured beside Holdfast: other libraries, and the least that a lock on the same server can be. */
@NullMarked
package dev.holdfast.benchmarks.subject;

import org.jspecify.annotations.NullMarked;
