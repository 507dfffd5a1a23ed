package dev.holdfast.spring.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** The health of a store that answers, fails or hangs. */
class HoldfastHealthIndicatorTest {

    private final InspectedStore store = new InspectedStore();

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    HoldfastAutoConfiguration.class,
                    HoldfastHealthContributorAutoConfiguration.class,
                    HoldfastInfoContributorAutoConfiguration.class))
            .withBean(LockStore.class, () -> store)
            .withPropertyValues("holdfast.health.timeout=10s");

    @Test
    void aStoreThatAnswersIsUp() {
        runner.run(context -> {
            Health health = context.getBean(HoldfastHealthIndicator.class).health();
            assertThat(health.getStatus()).isEqualTo(Status.UP);
            assertThat(health.getDetails())
                    .containsEntry("store", "memory")
                    .containsEntry("held", 0)
                    .containsKey("answered");
        });
    }

    @Test
    void aStoreThatFailsIsDown() {
        // Refused, and not unreachable: the client would ask again for as long as it may.
        store.answer = () -> CompletableFuture.failedFuture(StoreException.refused("no room", null));
        runner.run(context -> {
            Health health = context.getBean(HoldfastHealthIndicator.class).health();
            assertThat(health.getStatus()).isEqualTo(Status.DOWN);
            assertThat((String) health.getDetails().get("error")).contains("no room");
        });
    }

    /** A store that hangs costs one question and one thread, however often the health is looked at. */
    @Test
    void aStoreThatHangsIsDownAfterTheTimeoutAndIsAskedOnce() {
        CompletableFuture<Optional<ResourceState>> late = new CompletableFuture<>();
        store.answer = () -> late;
        runner.withPropertyValues("holdfast.health.timeout=50ms").run(context -> {
            HoldfastHealthIndicator indicator = context.getBean(HoldfastHealthIndicator.class);
            for (int i = 0; i < 3; i++) {
                Health health = indicator.health();
                assertThat(health.getStatus()).isEqualTo(Status.DOWN);
                assertThat(health.getDetails()).containsEntry("error", "no answer within 50 ms");
            }
            assertThat(store.asked.poll(10, TimeUnit.SECONDS)).isEqualTo(StoreProbe.NAME);
            assertThat(store.asked).isEmpty();
            store.answer = () -> CompletableFuture.completedFuture(Optional.empty());
            late.complete(Optional.empty());
        });
        runner.run(context -> assertThat(
                        context.getBean(HoldfastHealthIndicator.class).health().getStatus())
                .isEqualTo(Status.UP));
    }

    /** As when the limit of threads is reached for a moment. */
    @Test
    void aThreadThatCannotBeStartedIsDownOnce() {
        AtomicInteger threads = new AtomicInteger();
        runner.run(context -> {
            HoldfastHealthIndicator indicator = new HoldfastHealthIndicator(
                    context.getBean(Holdfast.class), Duration.ofSeconds(10), task -> new Thread(task) {
                        @Override
                        public void start() {
                            if (threads.incrementAndGet() == 1) {
                                throw new InternalError("unable to create native thread");
                            }
                            super.start();
                        }
                    });
            Health health = indicator.health();
            assertThat(health.getStatus()).isEqualTo(Status.DOWN);
            assertThat((String) health.getDetails().get("error")).contains("unable to create native thread");
            assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
        });
    }

    @Test
    void aThreadThatIsInterruptedDoesNotWait() {
        store.answer = CompletableFuture::new;
        runner.run(context -> {
            Thread.currentThread().interrupt();
            Health health = context.getBean(HoldfastHealthIndicator.class).health();
            assertThat(Thread.interrupted()).isTrue();
            assertThat(health.getStatus()).isEqualTo(Status.DOWN);
            assertThat((String) health.getDetails().get("error")).contains("InterruptedException");
        });
    }

    @Test
    void itCanBeTurnedOffAndNeedsTheActuator() {
        runner.withPropertyValues("management.health.holdfast.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(HoldfastHealthIndicator.class));
        runner.withPropertyValues("management.health.defaults.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(HoldfastHealthIndicator.class));
        runner.withClassLoader(new FilteredClassLoader(HealthIndicator.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("holdfastHealthIndicator"));
        runner.withPropertyValues("holdfast.health.timeout=11s")
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("holdfast.health.timeout"));
    }

    @Test
    void theInfoIsOffUnlessItIsAskedFor() {
        runner.run(context -> assertThat(context).doesNotHaveBean(HoldfastInfoContributor.class));
        runner.withPropertyValues("management.info.holdfast.enabled=true")
                .run(context -> assertThat(context).hasSingleBean(HoldfastInfoContributor.class));
        runner.withPropertyValues("management.info.holdfast.enabled=true")
                .withClassLoader(new FilteredClassLoader(InfoContributor.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("holdfastInfoContributor"));
    }

    /** A store that answers questions as the test says, and remembers them. */
    private static final class InspectedStore extends ForwardingStore {

        volatile Supplier<CompletionStage<Optional<ResourceState>>> answer =
                () -> CompletableFuture.completedFuture(Optional.empty());
        final BlockingQueue<String> asked = new LinkedBlockingQueue<>();

        InspectedStore() {
            super(new MemoryLockStore(MonotonicClock.SYSTEM));
        }

        @Override
        public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
            asked.add(name.value());
            return answer.get();
        }
    }
}
