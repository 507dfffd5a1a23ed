package dev.holdfast.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.spring.Locked;
import dev.holdfast.store.BlockingCalls;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.task.TaskExecutionAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.task.AsyncTaskExecutor;

/**
 * Locked methods on the virtual threads of an application that has {@code spring.threads.virtual.enabled}. {@code ./test} runs this on
 * the newest JDK, since 17 has no such threads.
 */
@EnabledForJreRange(min = JRE.JAVA_21)
class VirtualThreadsTest {

    private static final int THREADS = 200;

    private static RedisServer redis;

    @BeforeAll
    static void startRedis() {
        redis = RedisServer.start();
    }

    @AfterAll
    static void stopRedis() {
        redis.close();
    }

    /** Through Jedis and the pool of connections, whose calls keep a thread, and through Lettuce, whose calls do not. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://127.0.0.1:%d",
                "redis+lettuce://127.0.0.1:%d",
                "jdbc:h2:mem:virtual;DB_CLOSE_DELAY=-1",
                "memory:"
            })
    void lockedMethodsExcludeEachOtherOnVirtualThreads(String url) {
        runner(url.formatted(redis.port())).run(context -> {
            Counter counter = context.getBean(Counter.class);
            all(context.getBean(AsyncTaskExecutor.class), counter::count);
            Tally tally = context.getBean(Tally.class);
            assertThat(tally.counted).isEqualTo(THREADS);
            assertThat(tally.mostAtOnce).isEqualTo(1);
            assertThat(tally.onVirtualThreads).isEqualTo(THREADS);
        });
    }

    /** A virtual thread is interrupted while it asks: the connection is not broken by it, and the lock is free afterwards. */
    @Test
    void anInterruptBreaksNoConnection() {
        runner("redis://127.0.0.1:" + redis.port()).run(context -> {
            Holdfast locks = context.getBean(Holdfast.class);
            AsyncTaskExecutor executor = context.getBean(AsyncTaskExecutor.class);
            all(executor, () -> {
                Thread.currentThread().interrupt();
                locks.lock("interrupted").lock(); // does not answer to interrupts, and keeps the flag
                assertThat(Thread.currentThread().isInterrupted()).isTrue();
                locks.lock("interrupted").unlock();
            });
            assertThat(locks.lock("interrupted").isLocked()).isFalse();
        });
    }

    private static ApplicationContextRunner runner(String url) {
        return new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(
                        HoldfastAutoConfiguration.class,
                        LockedAutoConfiguration.class,
                        TaskExecutionAutoConfiguration.class))
                .withBean(Tally.class)
                .withBean(Counter.class)
                .withPropertyValues(
                        "spring.threads.virtual.enabled=true", "holdfast.url=" + url, "holdfast.locked.max-wait=60s");
    }

    private static void all(AsyncTaskExecutor executor, Runnable task)
            throws InterruptedException, ExecutionException, TimeoutException {
        List<CompletableFuture<Void>> ends = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            ends.add(executor.submitCompletable(task));
        }
        CompletableFuture.allOf(ends.toArray(CompletableFuture[]::new)).get(60, TimeUnit.SECONDS);
    }

    /** What was counted. The counter itself is behind a proxy. */
    static class Tally {
        private int atOnce;
        int mostAtOnce;
        int counted;
        int onVirtualThreads;
    }

    /** Has no locks but that of its method. */
    static class Counter {

        private final Tally tally;

        Counter(Tally tally) {
            this.tally = tally;
        }

        @Locked("counter")
        public void count() {
            tally.atOnce++;
            tally.mostAtOnce = Math.max(tally.mostAtOnce, tally.atOnce);
            tally.counted++;
            tally.onVirtualThreads += BlockingCalls.isVirtual(Thread.currentThread()) ? 1 : 0;
            Thread.yield();
            tally.atOnce--;
        }
    }
}
