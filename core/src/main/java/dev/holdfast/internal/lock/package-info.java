/** The locks as users see them. Each asks with a constant {@code LockSpec}. Uses {@code acquire} and below. */
@NullMarked
package dev.holdfast.internal.lock;

import org.jspecify.annotations.NullMarked;
