/**
 * The lease that keeps all keys of a client alive, the claims that depend on it, and the background work for them.
 */
@NullMarked
package dev.holdfast.etcd.session;

import org.jspecify.annotations.NullMarked;
