/** The long random run that compares a store with the store in memory, which is the model of the laws. */
@NullMarked
package dev.holdfast.testkit.model;

import org.jspecify.annotations.NullMarked;
