package dev.holdfast.testkit.law;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.DisplayNameGenerator;

/** Shows a test of a law as {@code law 3: a late release does not free the next holder}. */
final class LawNames extends DisplayNameGenerator.Standard {

    @Override
    public String generateDisplayNameForMethod(List<Class<?>> enclosing, Class<?> testClass, Method testMethod) {
        Law law = testMethod.getAnnotation(Law.class);
        if (law == null) {
            return super.generateDisplayNameForMethod(enclosing, testClass, testMethod);
        }
        String words = testMethod.getName().replaceAll("(\\p{Upper})", " $1").toLowerCase(Locale.ROOT);
        return "law " + law.value() + ": " + words;
    }
}
