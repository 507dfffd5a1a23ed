package dev.holdfast.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** To which server the locks of an application go, as it names its Redis to Boot. Nobody listens there: the report says where it was. */
class ApplicationRedisTest {

    private static final String NOBODY = "127.0.0.1:1";

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(HoldfastAutoConfiguration.class, DataRedisAutoConfiguration.class));

    private static String opened(ApplicationContextRunner application) {
        StringBuilder opened = new StringBuilder();
        application.run(context -> {
            FailureAnalysis analysis = new StoreUnavailableFailureAnalyzer().analyze(context.getStartupFailure());
            assertThat(analysis).as("%s", context.getStartupFailure()).isNotNull();
            opened.append(analysis.getDescription());
        });
        return opened.toString();
    }

    private static void assertRefused(ApplicationContextRunner application, String... problem) {
        application.run(context -> {
            FailureAnalysis analysis = new NoLockStoreFailureAnalyzer().analyze(context.getStartupFailure());
            assertThat(analysis).as("%s", context.getStartupFailure()).isNotNull();
            assertThat(analysis.getDescription()).contains(problem);
            assertThat(analysis.getAction()).contains("holdfast.url");
        });
    }

    /** A server that expects TLS would be sent the password in clear. */
    @Test
    void aUrlThatAsksForTlsIsOpenedWithTls() {
        assertThat(opened(runner.withPropertyValues("spring.data.redis.url=rediss://:secret@" + NOBODY)))
                .contains("rediss+lettuce://")
                .contains(NOBODY)
                .doesNotContain("secret");
        assertThat(opened(runner.withPropertyValues("spring.data.redis.url=redis://:secret@" + NOBODY)))
                .contains("redis+lettuce://");
        assertThat(opened(runner.withPropertyValues(
                        "spring.data.redis.host=127.0.0.1",
                        "spring.data.redis.port=1",
                        "spring.data.redis.ssl.enabled=true")))
                .contains("rediss+lettuce://" + NOBODY);
    }

    /** Boot's details name localhost as the one server then. */
    @Test
    void aMasterWithListedReplicasIsRefused() {
        assertRefused(
                runner.withPropertyValues("spring.data.redis.masterreplica.nodes=one:6379,two:6379"),
                "spring.data.redis.masterreplica.nodes");
    }

    /** Boot's own client connects to what such a bean names, while the details go on to say localhost, or what the keys say. */
    @Test
    void aRedisThatABeanNamesIsRefused() {
        assertRefused(
                runner.withBean(
                                "shared",
                                RedisStandaloneConfiguration.class,
                                () -> new RedisStandaloneConfiguration("elsewhere", 6379))
                        .withPropertyValues("spring.data.redis.host=127.0.0.1", "spring.data.redis.port=1"),
                "\"shared\"");
        ApplicationContextRunner factory = runner.withBean(
                "factory", LettuceConnectionFactory.class, () -> new LettuceConnectionFactory("elsewhere", 6379));
        assertRefused(factory, "\"factory\"");
        // Keys that name a server are what such a bean is made from.
        assertThat(opened(factory.withPropertyValues("spring.data.redis.url=redis://" + NOBODY)))
                .contains(NOBODY);
        assertThat(opened(factory.withPropertyValues("spring.data.redis.cluster.nodes=" + NOBODY)))
                .contains("cluster", NOBODY);
        assertThat(opened(factory.withPropertyValues(
                        "spring.data.redis.sentinel.master=m", "spring.data.redis.sentinel.nodes=" + NOBODY)))
                .contains("sentinel", NOBODY);
    }
}
