package dev.holdfast.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.LockObserver;
import dev.holdfast.micrometer.AcquireContext;
import dev.holdfast.micrometer.AcquireConvention;
import dev.holdfast.micrometer.DefaultAcquireConvention;
import dev.holdfast.micrometer.HoldfastObservations;
import dev.holdfast.micrometer.LockGroups;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;

/** The acquisitions of an application that has observations are observed. */
class HoldfastObservationAutoConfigurationTest {

    /** Keeps what has ended. */
    static final class Ended implements ObservationHandler<Observation.Context> {

        private final List<Observation.Context> all = new CopyOnWriteArrayList<>();

        @Override
        public void onStop(Observation.Context context) {
            all.add(context);
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return context instanceof AcquireContext;
        }
    }

    private final ApplicationContextRunner without = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    HoldfastAutoConfiguration.class,
                    HoldfastMetricsAutoConfiguration.class,
                    HoldfastObservationAutoConfiguration.class))
            .withPropertyValues("holdfast.url=memory:");
    private final ApplicationContextRunner with = without.withConfiguration(AutoConfigurations.of(
                    MetricsAutoConfiguration.class,
                    CompositeMeterRegistryAutoConfiguration.class,
                    ObservationAutoConfiguration.class))
            .withBean(Ended.class);

    private static Observation.Context observed(ApplicationContext context) {
        context.getBean(Holdfast.class)
                .lock("order:7")
                .tryAcquire()
                .orElseThrow()
                .release();
        List<Observation.Context> ended = context.getBean(Ended.class).all;
        assertThat(ended).hasSize(1);
        return ended.get(0);
    }

    @Test
    void acquisitionsAreObservedAndMeasured() {
        with.run(context -> {
            Observation.Context acquired = observed(context);
            assertThat(acquired.getName()).isEqualTo("holdfast.lock.acquire");
            assertThat(acquired.getLowCardinalityKeyValue("store").getValue()).isEqualTo("memory");
            assertThat(acquired.getLowCardinalityKeyValue("lock").getValue()).isEqualTo("order:*");
        });
    }

    @Test
    void theApplicationMayNameThem() {
        with.withBean(LockGroups.class, LockGroups::byName)
                .withBean(AcquireConvention.class, () -> new DefaultAcquireConvention() {
                    @Override
                    public String getName() {
                        return "own";
                    }
                })
                .run(context -> {
                    Observation.Context acquired = observed(context);
                    assertThat(acquired.getName()).isEqualTo("own");
                    assertThat(acquired.getLowCardinalityKeyValue("lock").getValue())
                            .isEqualTo("order:7");
                });
    }

    @Test
    void bootsKeyTurnsThemOff() {
        with.withPropertyValues("management.observations.enable.holdfast=false").run(context -> {
            context.getBean(Holdfast.class).lock("a").tryAcquire().orElseThrow().release();
            assertThat(context.getBean(Ended.class).all).isEmpty();
        });
    }

    @Test
    void withoutARegistryOrTheModuleNothingIsObserved() {
        without.run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(HoldfastObservations.class));
        with.withClassLoader(new FilteredClassLoader(HoldfastObservations.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("holdfastObservations"));
        with.withClassLoader(new FilteredClassLoader(ObservationRegistry.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("holdfastObservations"));
    }

    /** Of several observers some begin something, and others do not; one of them fails. Each learns of the end once. */
    @Test
    void eachOfSeveralObserversIsNotifiedOfTheEndOnce() {
        List<String> heard = new ArrayList<>();
        LockObserver begins = new LockObserver() {
            @Override
            public Acquisition acquireStarted(String name, Kind kind) {
                return (outcome, waited) -> heard.add("begun");
            }

            @Override
            public void acquireEnded(String name, Outcome outcome, Duration waited) {
                heard.add("twice");
            }
        };
        LockObserver doesNot = new LockObserver() {
            @Override
            public void acquireEnded(String name, Outcome outcome, Duration waited) {
                heard.add("only the end");
            }
        };
        LockObserver fails = new LockObserver() {
            @Override
            public Acquisition acquireStarted(String name, Kind kind) {
                Thread.currentThread().setUncaughtExceptionHandler((thread, expected) -> heard.add("reported"));
                throw new IllegalStateException("an observer's own failure");
            }

            @Override
            public void acquireEnded(String name, Outcome outcome, Duration waited) {
                heard.add("the end");
            }
        };
        Thread.UncaughtExceptionHandler before = Thread.currentThread().getUncaughtExceptionHandler();
        try (Holdfast locks = Holdfast.builder()
                .url("memory:")
                .observer(Observers.of(List.of(fails, begins, doesNot)))
                .connect()) {
            locks.lock("a").tryAcquire().orElseThrow().release();
        } finally {
            Thread.currentThread().setUncaughtExceptionHandler(before);
        }
        assertThat(heard).containsExactly("reported", "the end", "begun", "only the end");
        assertThat(Observers.of(List.of(doesNot, doesNot)).acquireStarted("a", LockObserver.Kind.MUTEX))
                .isNull();
    }

    @Test
    void anObserverThatFailsWithAnErrorDoesNotKeepTheOthersFromBeingNotified() {
        List<String> heard = new ArrayList<>();
        LockObserver fails = new LockObserver() {
            @Override
            public Acquisition acquireStarted(String name, Kind kind) {
                throw new LinkageError("expected");
            }

            @Override
            public void released(String name, Duration held) {
                throw new LinkageError("expected");
            }
        };
        LockObserver hears = new LockObserver() {
            @Override
            public Acquisition acquireStarted(String name, Kind kind) {
                return (outcome, waited) -> heard.add("acquired");
            }

            @Override
            public void released(String name, Duration held) {
                heard.add("released");
            }
        };
        LockObserver both = Observers.of(List.of(fails, hears));
        Thread.UncaughtExceptionHandler before = Thread.currentThread().getUncaughtExceptionHandler();
        Thread.currentThread().setUncaughtExceptionHandler((thread, expected) -> heard.add("reported"));
        try {
            both.acquireStarted("a", LockObserver.Kind.MUTEX).ended(LockObserver.Outcome.ACQUIRED, Duration.ZERO);
        } finally {
            Thread.currentThread().setUncaughtExceptionHandler(before);
        }
        assertThatThrownBy(() -> both.released("a", Duration.ZERO)).isInstanceOf(LinkageError.class);
        assertThat(heard).containsExactly("reported", "acquired", "released");
    }
}
