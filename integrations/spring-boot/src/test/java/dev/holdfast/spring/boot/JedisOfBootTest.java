package dev.holdfast.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.redis.RedisServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.util.ClassUtils;

/** An application that uses Jedis, in the version that its Boot brings: that of 4.0 is too old. {@code tools/test-boot.sh} runs it with both. */
class JedisOfBootTest {

    private static RedisServer redis;

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    HoldfastAutoConfiguration.class,
                    DataRedisAutoConfiguration.class,
                    DataSourceAutoConfiguration.class))
            .withPropertyValues(
                    "spring.data.redis.client-type=jedis",
                    "spring.data.redis.port=" + redis.port(),
                    "spring.datasource.url=jdbc:h2:mem:jedis")
            .withClassLoader(new FilteredClassLoader("io.lettuce.core"));

    @BeforeAll
    static void startRedis() {
        redis = RedisServer.start();
    }

    @AfterAll
    static void stopRedis() {
        redis.close();
    }

    static boolean isTooOld() {
        return !ClassUtils.isPresent("redis.clients.jedis.RedisClient", null);
    }

    @Test
    @DisabledIf("isTooOld")
    void itIsUsed() {
        runner.run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBean(Holdfast.class).traits().product()).isEqualTo("redis");
        });
    }

    /** It is neither passed over for the database, nor does it fail later: the report says which version to set, and how. */
    @Test
    @EnabledIf("isTooOld")
    void oneThatIsTooOldIsRefusedByName() {
        runner.run(context -> {
            assertThat(context).hasFailed();
            FailureAnalysis analysis = new NoLockStoreFailureAnalyzer().analyze(context.getStartupFailure());
            assertThat(analysis.getDescription())
                    .contains(
                            "redis.clients:jedis 7.2 or newer", "version 7.0.0 is on the class path", "jedis.version");
            assertThat(analysis.getAction()).contains("docs/spring-boot.md");
        });
    }
}
