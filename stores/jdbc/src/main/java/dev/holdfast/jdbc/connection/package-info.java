/**
 * The sources of connections: a pool of our own, or the user's. A {@link
 * dev.holdfast.jdbc.connection.SerialConnection} is one connection and the queue of the calls that wait for it.
 */
@NullMarked
package dev.holdfast.jdbc.connection;

import org.jspecify.annotations.NullMarked;
