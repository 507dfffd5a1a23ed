/**
 * The lease that keeps all keys of a client alive, the claims that live by it, and what is done for them in the background.
 */
@NullMarked
package dev.holdfast.etcd.session;

import org.jspecify.annotations.NullMarked;
