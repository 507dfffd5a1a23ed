/**
 * What Spring Boot's actuator shows of the locks: an endpoint, a health indicator and a part of the info. Each is there only if
 * the application has the actuator, and only as its configuration exposes it.
 */
@NullMarked
package dev.holdfast.spring.actuate;

import org.jspecify.annotations.NullMarked;
