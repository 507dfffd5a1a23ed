package dev.holdfast.testkit.law;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Test;

/** A test of one of the twelve laws of {@code docs/guarantees.md}. */
@Test
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Law {

    /** The number of the law: 1 to 12. */
    int value();
}
