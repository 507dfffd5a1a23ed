package dev.holdfast.spring.boot;

import java.util.Arrays;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.AotDetector;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Standalone;
import org.springframework.boot.data.redis.autoconfigure.DataRedisProperties;
import org.springframework.core.env.Environment;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * The Redis to which the application connects. Boot's details say localhost if no key is set, also if the application names its Redis
 * in another way: locks there would be in another server than the one that all instances share.
 */
final class ApplicationRedis {

    private static final String REMEDY = "Set holdfast.url to the Redis that keeps the locks; or name it by"
            + " spring.data.redis.*, from which Boot makes the same";

    private final ConfigurableListableBeanFactory beans;
    private final Environment environment;

    ApplicationRedis(ConfigurableListableBeanFactory beans, Environment environment) {
        this.beans = beans;
        this.environment = environment;
    }

    /**
     * The URL of the store in it.
     *
     * @throws NoLockStoreException if it cannot be written as a URL, or the details do not name it
     */
    String url(DataRedisConnectionDetails details, String client, String options) {
        // Boot's own client prefers these to the details.
        refuse(ownConfiguration());
        if (isNamedByNobody(details)) {
            refuse(ownFactory());
        }
        return RedisDetailsUrl.of(details, urlAsksForTls(), client, options);
    }

    // The details have this URL's host and password, but not its scheme, for which Boot's clients look here, too.
    private boolean urlAsksForTls() {
        DataRedisProperties properties =
                beans.getBeanProvider(DataRedisProperties.class).getIfAvailable();
        String url = properties == null ? null : properties.getUrl();
        return url != null && url.startsWith("rediss:");
    }

    private boolean isNamedByNobody(DataRedisConnectionDetails details) {
        Standalone server = details.getStandalone();
        // Beside Sentinels or a cluster Boot names localhost, too.
        return details.getSentinel() == null
                && details.getCluster() == null
                && server != null
                && server.getHost().equals("localhost")
                && server.getPort() == 6379
                && Stream.of("url", "host", "port")
                        .noneMatch(key -> environment.containsProperty("spring.data.redis." + key));
    }

    private @Nullable String ownConfiguration() {
        return Arrays.stream(beans.getBeanNamesForType(RedisConfiguration.class, true, false))
                .findFirst()
                .orElse(null);
    }

    // Code that was generated ahead of time does not show whose bean it is.
    private @Nullable String ownFactory() {
        return Arrays.stream(beans.getBeanNamesForType(RedisConnectionFactory.class, true, false))
                .filter(name -> !AotDetector.useGeneratedArtifacts() && !isBoots(name))
                .findFirst()
                .orElse(null);
    }

    private boolean isBoots(String bean) {
        String configuration = beans.containsBeanDefinition(bean)
                ? beans.getBeanDefinition(bean).getFactoryBeanName()
                : null;
        return configuration != null && configuration.startsWith("org.springframework.boot.");
    }

    private void refuse(@Nullable String bean) {
        if (bean != null) {
            throw new NoLockStoreException(
                    "The Redis of this application is named by its bean \"" + bean + "\", at which locks cannot look",
                    REMEDY);
        }
    }
}
