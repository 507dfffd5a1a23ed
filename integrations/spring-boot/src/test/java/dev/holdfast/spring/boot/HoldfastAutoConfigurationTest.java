package dev.holdfast.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.LossReason;
import dev.holdfast.jdbc.JdbcLockStore;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.lettuce.LettuceRedis;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spring.Locked;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** From where the client of an application has its store. */
class HoldfastAutoConfigurationTest {

    @AutoClose
    private static RedisServer redis = RedisServer.start();

    private final ApplicationContextRunner plain = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, LockedAutoConfiguration.class));
    private final ApplicationContextRunner withDatabase = plain.withConfiguration(
                    AutoConfigurations.of(DataSourceAutoConfiguration.class))
            .withPropertyValues("spring.datasource.url=jdbc:h2:mem:" + System.nanoTime());
    private final ApplicationContextRunner withRedis = plain.withConfiguration(
                    AutoConfigurations.of(DataRedisAutoConfiguration.class))
            .withPropertyValues("spring.data.redis.url=redis://127.0.0.1:" + redis.port());

    @Test
    void withoutAStoreNothingStarts() {
        plain.run(context -> {
            assertThat(context).hasFailed();
            FailureAnalysis analysis = new NoLockStoreFailureAnalyzer().analyze(context.getStartupFailure());
            assertThat(analysis.getDescription()).contains("no store");
            assertThat(analysis.getAction()).contains("holdfast.url", "spring.data.redis", "spring.datasource");
        });
    }

    @Test
    void theUrlNamesTheStore() {
        plain.withPropertyValues("holdfast.url=memory:", "spring.application.name=shop")
                .run(context -> {
                    Holdfast locks = context.getBean(Holdfast.class);
                    locks.lock("a").lock();
                    assertThat(locks.state("a")
                                    .orElseThrow()
                                    .holders()
                                    .get(0)
                                    .claim()
                                    .owner()
                                    .label())
                            .isEqualTo("shop");
                    assertThat(locks.traits().product()).isEqualTo("memory");
                });
    }

    @Test
    void aUrlOfNoStoreSaysWhichThereAre() {
        plain.withPropertyValues("holdfast.url=rdis://:secret@localhost").run(context -> {
            FailureAnalysis analysis = new NoLockStoreFailureAnalyzer().analyze(context.getStartupFailure());
            assertThat(analysis.getDescription()).contains("redis").doesNotContain("secret");
            assertThat(analysis.getAction()).contains("holdfast.url");
            assertThat(context.getStartupFailure())
                    .rootCause()
                    .hasMessageContaining("redis")
                    .hasMessageNotContaining("secret");
        });
    }

    @Test
    void aServerThatIsNotThereIsNamed() {
        plain.withPropertyValues("holdfast.url=redis+lettuce://127.0.0.1:1").run(context -> {
            FailureAnalysis analysis = new StoreUnavailableFailureAnalyzer().analyze(context.getStartupFailure());
            assertThat(analysis.getDescription()).contains("redis+lettuce://127.0.0.1:1");
            assertThat(analysis.getAction()).contains("holdfast.url");
        });
    }

    @Test
    void aDatabaseIsUsed() {
        withDatabase.run(context ->
                assertThat(context.getBean(Holdfast.class).traits().product()).isEqualTo("h2"));
    }

    @Test
    void redisComesBeforeTheDatabase() {
        withDatabase
                .withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class))
                .withPropertyValues("spring.data.redis.port=" + redis.port(), "holdfast.store-options=prefix=shop:")
                .run(context -> {
                    context.getBean(Holdfast.class).lock("order").lock();
                    assertThat(redis.<Boolean>ask(client -> client.exists("shop:{order}")))
                            .isTrue();
                });
    }

    @Test
    void jedisIsUsedWhereThereIsNoLettuce() {
        withRedis
                .withPropertyValues("spring.data.redis.client-type=jedis")
                .withClassLoader(new FilteredClassLoader("io.lettuce.core"))
                .run(context -> {
                    context.getBean(Holdfast.class).lock("by-jedis").lock();
                    assertThat(redis.<Boolean>ask(client -> client.exists("holdfast:{by-jedis}")))
                            .isTrue();
                });
    }

    /**
     * Boot 4.0 brings a Jedis that lacks this class, which the store refuses: {@code JedisOfBootTest}. Here the store loads its classes
     * from elsewhere, and only the choice is looked at.
     */
    @Test
    void aJedisThatIsTooOldIsNotPassedOverForTheDatabase() {
        withDatabase
                .withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class))
                .withPropertyValues("spring.data.redis.client-type=jedis", "spring.data.redis.port=" + redis.port())
                .withClassLoader(new FilteredClassLoader(
                        name -> name.startsWith("io.lettuce.core") || name.equals("redis.clients.jedis.RedisClient")))
                .run(context -> assertThat(
                                context.getBean(Holdfast.class).traits().product())
                        .isEqualTo("redis"));
    }

    @Test
    void detailsComeBeforeRedis() {
        withRedis
                .withBean(HoldfastConnectionDetails.class, () -> () -> "memory:")
                .run(context -> assertThat(
                                context.getBean(Holdfast.class).traits().product())
                        .isEqualTo("memory"));
    }

    @Test
    void theUrlComesBeforeDetails() {
        plain.withBean(HoldfastConnectionDetails.class, () -> () -> "nowhere:")
                .withPropertyValues("holdfast.url=memory:")
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(LockStore.class));
    }

    @Test
    void aStoreComesBeforeTheUrlAndTheClientIsCustomizedAndClosed() {
        CompletableFuture<LossReason> lost = new CompletableFuture<>();
        AtomicInteger callbacks = new AtomicInteger();
        plain.withBean("store", LockStore.class, () -> new MemoryLockStore(MonotonicClock.SYSTEM))
                .withPropertyValues("holdfast.url=nowhere:")
                .withBean(
                        HoldfastBuilderCustomizer.class,
                        () -> builder -> builder.callbacks(task -> {
                            callbacks.incrementAndGet();
                            task.run();
                        }))
                .run(context ->
                        context.getBean(Holdfast.class).lock("a").acquire().onLost(lost::complete));
        // Listeners are called on a thread of the client, for which its close does not wait.
        assertThat(lost).succeedsWithin(Duration.ofSeconds(10)).isEqualTo(LossReason.CLOSED);
        assertThat(callbacks).hasPositiveValue();
    }

    @Test
    void aClientComesBeforeEverything() {
        try (Holdfast own = Holdfast.connect("memory:")) {
            plain.withBean("own", Holdfast.class, () -> own)
                    .withPropertyValues("holdfast.url=nowhere:")
                    .run(context -> assertThat(context).getBean(Holdfast.class).isSameAs(own));
        }
    }

    @Test
    void aDatabaseWithoutOurModuleIsNotPassedOverSilently() {
        withDatabase
                .withClassLoader(new FilteredClassLoader(JdbcLockStore.class, LettuceRedis.class))
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("DataSource")
                        .hasMessageContaining("holdfast-jdbc"));
    }

    @Test
    void keysAreBoundAndChecked() {
        ApplicationContextRunner memory = plain.withPropertyValues("holdfast.url=memory:");
        memory.withPropertyValues(
                        "holdfast.lease=5s",
                        "holdfast.max-hold=1m",
                        "holdfast.fair=true",
                        "holdfast.locked.max-wait=2s")
                .run(context -> {
                    HoldfastProperties properties = context.getBean(HoldfastProperties.class);
                    assertThat(properties.lockOptions()).hasToString("lease PT5S renewed, maxHold PT1M, fair");
                    assertThat(properties.locked().maxWait()).hasSeconds(2);
                });
        memory.withPropertyValues("holdfast.lease=5ms")
                .run(context ->
                        assertThat(context.getStartupFailure()).rootCause().hasMessageContaining("100 ms"));
        memory.withPropertyValues("holdfast.locked.max-wait=-1s")
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("holdfast.locked.max-wait"));
    }

    @Test
    void aLockedMethodKeepsOutOtherApplicationsOnBootsRedis() {
        keepsOutAnotherApplication(withRedis);
    }

    @Test
    void aLockedMethodKeepsOutOtherApplicationsOnTheDatabase() {
        keepsOutAnotherApplication(withDatabase);
    }

    private static void keepsOutAnotherApplication(ApplicationContextRunner runner) {
        ApplicationContextRunner application =
                runner.withBean(Till.class).withPropertyValues("holdfast.locked.max-wait=0s");
        application.run(first -> application.run(second -> {
            Till mine = first.getBean(Till.class);
            Till others = second.getBean(Till.class);
            mine.count(1, () -> {
                assertThatThrownBy(() -> others.count(1, () -> {})).isInstanceOf(LockTimeoutException.class);
                assertThat(others.count(2, () -> {})).isTrue();
            });
            assertThat(others.count(1, () -> {})).isTrue();
        }));
    }

    static class Till {

        @Locked("till:#{#number}")
        public boolean count(int number, Runnable work) {
            work.run();
            return true;
        }
    }

    @Test
    void theClientIsClosedAfterWhatUsesLocks() {
        List<Object> states = new ArrayList<>();
        plain.withPropertyValues("holdfast.url=memory:")
                .withBean(LastWord.class, () -> new LastWord(states))
                .run(context -> context.getBean(LastWord.class).speak());
        assertThat(states).containsExactly("spoken", "spoken");
    }

    /** Takes a lock when it is destroyed. It was made before the client, and does not know it. */
    static class LastWord implements DisposableBean {

        @Autowired
        private ObjectProvider<LastWord> self;

        private final List<Object> states;

        LastWord(List<Object> states) {
            this.states = states;
        }

        @Locked("word")
        public void speak() {
            states.add("spoken");
        }

        @Override
        public void destroy() {
            proxy.speak();
        }

        private LastWord proxy;

        @EventListener
        public void remember(ContextRefreshedEvent event) {
            proxy = self.getObject();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Twice {

        @Bean
        DataSource first() {
            return new DriverManagerDataSource("jdbc:h2:mem:first;DB_CLOSE_DELAY=-1");
        }

        @Bean
        DataSource second() {
            return new DriverManagerDataSource("jdbc:h2:mem:second;DB_CLOSE_DELAY=-1");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class OneMarked {

        @Bean
        @HoldfastDataSource
        DataSource third() {
            return new DriverManagerDataSource("jdbc:h2:mem:third;DB_CLOSE_DELAY=-1");
        }
    }

    @Test
    void ofSeveralDatabasesOneMustBeMarked() {
        plain.withUserConfiguration(Twice.class)
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("@HoldfastDataSource"));
        plain.withUserConfiguration(Twice.class, OneMarked.class)
                .run(context -> assertThat(context).hasSingleBean(Holdfast.class));
    }
}
