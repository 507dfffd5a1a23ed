/** What the store keeps under a key: the record of a name, as text, and the operation that changes it. */
@NullMarked
package dev.holdfast.memcached.record;

import org.jspecify.annotations.NullMarked;
