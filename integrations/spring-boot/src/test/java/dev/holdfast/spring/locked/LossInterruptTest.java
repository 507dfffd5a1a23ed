package dev.holdfast.spring.locked;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.spring.Locked;
import dev.holdfast.spring.boot.HoldfastBuilderCustomizer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Whom the loss of a lock interrupts that stays taken for longer than its method runs. */
class LossInterruptTest {

    /** Whatever is called after a loss is called on one thread: an interrupt before listeners, and listeners in their order. */
    private final ApplicationContextRunner runner = Contexts.inMemory()
            .withBean(HoldfastBuilderCustomizer.class, () -> builder -> builder.callbacks(Runnable::run))
            .withBean(Jobs.class, () -> new Jobs(this));

    private final CountDownLatch lost = new CountDownLatch(1);
    private Runnable inside = () -> {};

    @Test
    void aThreadThatHasLeftTheMethodIsNotInterrupted() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            jobs.run(null);
            context.getBean(Holdfast.class).lock("job").forceRelease();
            assertThat(lost.await(10, TimeUnit.SECONDS)).isTrue();
            assertThat(Thread.interrupted()).isFalse();
        });
    }

    @Test
    void aThreadInTheMethodIs() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            inside = () -> {
                context.getBean(Holdfast.class).lock("job").forceRelease();
                assertThatThrownBy(() -> new CountDownLatch(1).await(10, TimeUnit.SECONDS))
                        .isInstanceOf(InterruptedException.class);
                Thread.currentThread().interrupt();
            };
            assertThatThrownBy(() -> jobs.run(null)).isInstanceOf(LockLostException.class);
            assertThat(Thread.interrupted()).isFalse();
        });
    }

    static class Jobs {

        private final LossInterruptTest test;

        Jobs(LossInterruptTest test) {
            this.test = test;
        }

        @Locked(name = "job", lockAtLeast = "1h", interruptOnLoss = true)
        public void run(Lease lease) {
            lease.onLost(reason -> test.lost.countDown());
            test.inside.run();
        }
    }
}
