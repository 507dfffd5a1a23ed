/** Processes that a test starts: JVMs with its class path, servers, their ports, and signals to them. */
@NullMarked
package dev.holdfast.testkit.process;

import org.jspecify.annotations.NullMarked;
