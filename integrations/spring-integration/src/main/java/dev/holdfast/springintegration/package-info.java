/** Spring Integration's locks in any store. Begin with {@link dev.holdfast.springintegration.HoldfastLockRegistry}. */
@NullMarked
package dev.holdfast.springintegration;

import org.jspecify.annotations.NullMarked;
