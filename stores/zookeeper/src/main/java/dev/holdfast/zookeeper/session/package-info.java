/**
 * The current session and its successors, the requests that are sent on a session, and the meaning of error codes.
 */
@NullMarked
package dev.holdfast.zookeeper.session;

import org.jspecify.annotations.NullMarked;
