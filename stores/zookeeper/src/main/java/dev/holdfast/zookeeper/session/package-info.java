/** Sessions, one after the other, the requests that are sent on one, and the meaning of errors. */
@NullMarked
package dev.holdfast.zookeeper.session;

import org.jspecify.annotations.NullMarked;
