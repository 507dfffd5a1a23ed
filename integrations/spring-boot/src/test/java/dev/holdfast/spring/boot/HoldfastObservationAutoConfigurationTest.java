package dev.holdfast.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

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

    /** Observations, two beans of the application's, and one of a customizer's. */
    @Test
    void eachOfSeveralObserversIsNotified() {
        List<String> heard = new ArrayList<>();
        with.withBean("second", LockObserver.class, () -> new Hears("second", heard))
                .withBean("third", LockObserver.class, () -> new Hears("third", heard))
                .withBean(HoldfastBuilderCustomizer.class, () -> builder -> builder.observer(new Hears("last", heard)))
                .run(context -> {
                    observed(context);
                    assertThat(heard).containsExactly("second", "third", "last");
                });
    }

    private record Hears(String name, List<String> heard) implements LockObserver {

        @Override
        public void acquireEnded(String lock, Outcome outcome, Duration waited) {
            heard.add(name);
        }
    }
}
