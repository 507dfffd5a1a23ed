package dev.holdfast.spring.boot;

import dev.holdfast.Holdfast;
import dev.holdfast.LockObserver;
import dev.holdfast.spi.LockStore;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/**
 * Makes the client of the application: a bean {@link Holdfast}, unless there is one. Its store is the first of
 *
 * <ol>
 *   <li>a bean of the type {@link LockStore},
 *   <li>the key {@code holdfast.url},
 *   <li>a bean of the type {@link HoldfastConnectionDetails},
 *   <li>the Redis of the application, as {@code spring.data.redis} and Boot's connection details name it,
 *   <li>the {@code DataSource} of the application.
 * </ol>
 *
 * If there is none of them, the application does not start: locks in memory would exclude nobody.
 */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.JndiDataSourceAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.XADataSourceAutoConfiguration"
        })
@EnableConfigurationProperties(HoldfastProperties.class)
@ImportRuntimeHints(HoldfastRuntimeHints.class)
public final class HoldfastAutoConfiguration {

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingBean(Holdfast.class)
    @Import({
        StoreConfiguration.ByUrl.class,
        StoreConfiguration.ByDetails.class,
        StoreConfiguration.OverLettuce.class,
        StoreConfiguration.OverJedis.class,
        StoreConfiguration.InDatabase.class
    })
    static class ClientConfiguration {

        @Bean(destroyMethod = "close")
        Holdfast holdfast(
                ObjectProvider<LockStore> store,
                HoldfastProperties properties,
                ObjectProvider<LockObserver> observers,
                ObjectProvider<HoldfastBuilderCustomizer> customizers,
                Environment environment,
                ConfigurableListableBeanFactory beans) {
            LockStore found = store.getIfAvailable(() -> {
                throw missing(beans);
            });
            String label = properties.label();
            Holdfast.Builder builder = Holdfast.builder()
                    .store(found)
                    .options(properties.lockOptions())
                    .label(label != null ? label : environment.getProperty("spring.application.name", ""));
            observers.orderedStream().forEach(builder::observer);
            customizers.orderedStream().forEach(customizer -> customizer.customize(builder));
            return builder.connect();
        }

        private static NoLockStoreException missing(ConfigurableListableBeanFactory beans) {
            String lacks = lacks(beans, "javax.sql.DataSource", "dev.holdfast.jdbc.JdbcLockStore", "holdfast-jdbc")
                    + lacks(
                            beans,
                            "org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails",
                            "dev.holdfast.redis.RedisLockStore",
                            "holdfast-redis-lettuce");
            return new NoLockStoreException(
                    "There is no store for the locks of this application" + lacks,
                    "Set holdfast.url (redis://HOST, jdbc:postgresql://.., sqlite:PATH, zookeeper://.., etcd://..) and add the"
                            + " module of that store; or use spring.data.redis with holdfast-redis-lettuce, or spring.datasource with"
                            + " holdfast-jdbc, which holdfast-spring-boot-starter has both. For a test, holdfast.url=memory: excludes the"
                            + " threads of one JVM only");
        }

        // What the application has, but cannot be used without a module of ours.
        private static String lacks(ConfigurableListableBeanFactory beans, String type, String ours, String module) {
            ClassLoader loader = beans.getBeanClassLoader();
            boolean there = ClassUtils.isPresent(type, loader)
                    && beans.getBeanProvider(ClassUtils.resolveClassName(type, loader)).stream()
                            .findAny()
                            .isPresent();
            return there && !ClassUtils.isPresent(ours, loader)
                    ? ". It has a " + ClassUtils.getShortName(type) + ", but " + module + " is not on the class path"
                    : "";
        }
    }
}
