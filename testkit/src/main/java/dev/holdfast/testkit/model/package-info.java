/** The long random run of a store beside the store in memory, which is the model of the laws. */
@NullMarked
package dev.holdfast.testkit.model;

import org.jspecify.annotations.NullMarked;
