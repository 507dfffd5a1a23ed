/** SQLite: its dialect, its file and how a writer waits for it, and the host's clock that it goes by. */
@NullMarked
package dev.holdfast.jdbc.sqlite;

import org.jspecify.annotations.NullMarked;
