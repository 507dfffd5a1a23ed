/** SQLite: its dialect, its file, how a writer waits for the file, and the host's clock that it uses. */
@NullMarked
package dev.holdfast.jdbc.sqlite;

import org.jspecify.annotations.NullMarked;
