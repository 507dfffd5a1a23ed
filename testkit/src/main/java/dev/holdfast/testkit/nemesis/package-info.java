/**
 * The end-to-end check of a store, in the manner of Jepsen: processes change one set under one lock, while a nemesis kills and
 * freezes them, their lines and their servers. {@link dev.holdfast.testkit.nemesis.FaultRun} runs it.
 */
@NullMarked
package dev.holdfast.testkit.nemesis;

import org.jspecify.annotations.NullMarked;
