/** The long random run that compares a store with a plain model of the laws, which it shares no code with. */
@NullMarked
package dev.holdfast.testkit.model;

import org.jspecify.annotations.NullMarked;
