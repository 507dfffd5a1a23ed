package dev.holdfast.spring.locked;

import dev.holdfast.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.spring.boot.LockedAutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Applications for tests. */
final class Contexts {

    private Contexts() {}

    /** An application whose locks are in memory. */
    static ApplicationContextRunner inMemory() {
        return new ApplicationContextRunner()
                .withConfiguration(
                        AutoConfigurations.of(HoldfastAutoConfiguration.class, LockedAutoConfiguration.class))
                .withPropertyValues("holdfast.url=memory:");
    }

    /** Why an application did not start. */
    static Throwable rootCause(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }
}
