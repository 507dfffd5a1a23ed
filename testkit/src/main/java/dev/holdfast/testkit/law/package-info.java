/**
 * The twelve laws of {@code docs/guarantees.md} as tests, one class for each law. The classes extend each other in
 * a chain that begins with {@link dev.holdfast.testkit.law.StoreFixture} and ends in {@link
 * dev.holdfast.testkit.LockStoreTck}.
 */
@NullMarked
package dev.holdfast.testkit.law;

import org.jspecify.annotations.NullMarked;
