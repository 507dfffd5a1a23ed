/**
 * The claims that wait through this client, how the database is polled for them, and how a client of another process is notified
 * when one was granted.
 */
@NullMarked
package dev.holdfast.jdbc.waiting;

import org.jspecify.annotations.NullMarked;
