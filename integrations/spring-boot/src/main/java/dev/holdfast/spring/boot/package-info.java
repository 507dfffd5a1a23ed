/**
 * The auto-configuration of Holdfast: finds the store of the application, makes the client, and puts locks around methods. {@link
 * dev.holdfast.spring.boot.HoldfastAutoConfiguration} says in which order the store is looked for.
 */
@NullMarked
package dev.holdfast.spring.boot;

import org.jspecify.annotations.NullMarked;
