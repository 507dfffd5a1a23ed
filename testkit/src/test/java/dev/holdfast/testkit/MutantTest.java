package dev.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.law.Law;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.opentest4j.TestAbortedException;

/**
 * The TCK finds defects: each store that breaks a law fails in the group of that law, and only a correct store
 * passes.
 */
class MutantTest {

    /** For what never comes, because of the defect. */
    private static final Duration SHORT = Duration.ofMillis(300);
    /** For what comes, however busy the machine is. */
    private static final Duration LONG = Duration.ofSeconds(10);

    /** The TCK on a store in memory with a defect. */
    private static final class Tck extends LockStoreTck {
        private final UnaryOperator<LockStore> defect;
        private final Duration patience;

        Tck(UnaryOperator<LockStore> defect, Duration patience) {
            this.defect = defect;
            this.patience = patience;
        }

        @Override
        protected LockStore open(MonotonicClock clock) {
            return defect.apply(new MemoryLockStore(clock));
        }

        @Override
        protected Optional<LockStore> openAnother(MonotonicClock clock) {
            return Optional.empty();
        }

        @Override
        protected Duration patience() {
            return patience;
        }
    }

    @ParameterizedTest
    @EnumSource
    void mutantFailsInTheGroupOfItsLaw(Mutant mutant) {
        List<String> failed = failures(mutant.law(), mutant::of, SHORT);
        System.out.println(mutant + " is found by law " + mutant.law() + ": " + failed);
        assertThat(failed)
                .as("tests of law %d that fail on %s", mutant.law(), mutant)
                .isNotEmpty();
    }

    @Test
    void everyLawHasTestsAndAMutant() {
        for (int law = 1; law <= 12; law++) {
            int number = law;
            assertThat(tests(law)).as("tests of law %d", law).hasSizeGreaterThan(3);
            assertThat(Mutant.values()).as("mutants of law %d", law).anyMatch(mutant -> mutant.law() == number);
        }
    }

    @Test
    void lawfulStorePassesTheSameWay() {
        for (int law = 1; law <= 12; law++) {
            assertThat(failures(law, lawful -> lawful, LONG))
                    .as("failures in law %d", law)
                    .isEmpty();
        }
    }

    private static List<Method> tests(int law) {
        return Arrays.stream(LockStoreTck.class.getMethods())
                .filter(method -> method.isAnnotationPresent(Law.class)
                        && method.getAnnotation(Law.class).value() == law)
                .sorted(Comparator.comparing(Method::getName))
                .toList();
    }

    private static List<String> failures(int law, UnaryOperator<LockStore> defect, Duration patience) {
        List<String> failed = new ArrayList<>();
        for (Method test : tests(law)) {
            Tck tck = new Tck(defect, patience);
            tck.openTheStore(named(test.getName()));
            try {
                test.setAccessible(true);
                test.invoke(tck);
            } catch (InvocationTargetException failure) {
                if (!(failure.getCause() instanceof TestAbortedException)) {
                    failed.add(test.getName());
                }
            } catch (IllegalAccessException impossible) {
                throw new AssertionError(impossible);
            } finally {
                tck.closeTheStores();
            }
        }
        return failed;
    }

    private static TestInfo named(String name) {
        return (TestInfo) Proxy.newProxyInstance(
                TestInfo.class.getClassLoader(), new Class<?>[] {TestInfo.class}, (proxy, method, arguments) -> name);
    }
}
