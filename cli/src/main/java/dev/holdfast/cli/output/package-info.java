/** What the tool prints: tables, JSON, errors and the exit codes that go with them. */
@NullMarked
package dev.holdfast.cli.output;

import org.jspecify.annotations.NullMarked;
