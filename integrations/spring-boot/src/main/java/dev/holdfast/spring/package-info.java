/** What a Spring application writes: {@link dev.holdfast.spring.Locked}. {@code docs/spring-boot.md} shows it at work. */
@NullMarked
package dev.holdfast.spring;

import org.jspecify.annotations.NullMarked;
