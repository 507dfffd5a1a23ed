/**
 * The connection to the server: requests and their answers, the server's clock, failures, and the list of all keys.
 */
@NullMarked
package dev.holdfast.memcached.client;

import org.jspecify.annotations.NullMarked;
