package dev.holdfast.testkit.nemesis;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** A scenario that takes too long for each build: it is run where the number of {@link FaultRun#INJECTIONS} is set. */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@EnabledIfSystemProperty(
        named = FaultRun.INJECTIONS,
        matches = ".+",
        disabledReason = "It takes too long for each build; tools/faults.sh runs it")
public @interface OnDemand {}
