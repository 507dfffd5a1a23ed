/** The events of locks in flight recordings. This package needs the module {@code jdk.jfr}, and does nothing where it is missing. */
@NullMarked
package dev.holdfast.internal.flight;

import org.jspecify.annotations.NullMarked;
