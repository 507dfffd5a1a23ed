package dev.holdfast.spring.boot;

import dev.holdfast.StoreUnavailableException;
import dev.holdfast.jdbc.JdbcLockStore;
import dev.holdfast.redis.RedisLockStore;
import dev.holdfast.redis.lettuce.LettuceRedis;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.Providers;
import dev.holdfast.store.StoreUrl;
import io.lettuce.core.RedisClient;
import java.util.Objects;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import redis.clients.jedis.Jedis;

/** The places where a store is looked for. Each is asked only if those before it have none. */
final class StoreConfiguration {

    private StoreConfiguration() {}

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingBean(LockStore.class)
    @Conditional(UrlIsSet.class)
    static class ByUrl {

        @Bean
        LockStore holdfastLockStore(HoldfastProperties properties) {
            return open(Objects.requireNonNull(properties.url()));
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingBean(LockStore.class)
    @ConditionalOnBean(HoldfastConnectionDetails.class)
    static class ByDetails {

        @Bean
        LockStore holdfastLockStore(HoldfastConnectionDetails details) {
            return open(details.url());
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({DataRedisConnectionDetails.class, LettuceRedis.class, RedisClient.class})
    @ConditionalOnMissingBean(LockStore.class)
    @ConditionalOnBean(DataRedisConnectionDetails.class)
    static class OverLettuce {

        @Bean
        LockStore holdfastLockStore(
                DataRedisConnectionDetails details,
                HoldfastProperties properties,
                ConfigurableListableBeanFactory beans,
                Environment environment) {
            ApplicationRedis redis = new ApplicationRedis(beans, environment);
            return open(redis.url(details, "+lettuce", properties.storeOptions()));
        }
    }

    @Configuration(proxyBeanMethods = false)
    // A class that every version has: one that is too old is to be refused, and not passed over for the DataSource.
    @ConditionalOnClass({DataRedisConnectionDetails.class, RedisLockStore.class, Jedis.class})
    @ConditionalOnMissingClass("io.lettuce.core.RedisClient")
    @ConditionalOnMissingBean(LockStore.class)
    @ConditionalOnBean(DataRedisConnectionDetails.class)
    static class OverJedis {

        @Bean
        LockStore holdfastLockStore(
                DataRedisConnectionDetails details,
                HoldfastProperties properties,
                ConfigurableListableBeanFactory beans,
                Environment environment) {
            ApplicationRedis redis = new ApplicationRedis(beans, environment);
            return open(redis.url(details, "", properties.storeOptions()));
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(JdbcLockStore.class)
    @ConditionalOnMissingBean(LockStore.class)
    @ConditionalOnBean(DataSource.class)
    static class InDatabase {

        // Flyway refuses a schema that has tables already, and a store that only checks its tables needs those that it
        // makes.
        @Bean
        @DependsOnDatabaseInitialization
        LockStore holdfastLockStore(
                ObjectProvider<DataSource> databases,
                @HoldfastDataSource ObjectProvider<DataSource> marked,
                HoldfastProperties properties) {
            DataSource own = marked.getIfAvailable();
            DataSource database = own != null ? own : databases.getIfUnique();
            if (database == null) {
                throw new NoLockStoreException(
                        "There are several DataSources, and none of them is primary",
                        "Mark the one that keeps the locks with @HoldfastDataSource, or set holdfast.url");
            }
            return opened(
                    "the application's DataSource", () -> JdbcLockStore.over(database, properties.storeOptions()));
        }
    }

    private static LockStore open(String url) {
        return opened(StoreUrl.withoutPassword(url), () -> Providers.open(url, MonotonicClock.SYSTEM));
    }

    private static LockStore opened(String place, Supplier<LockStore> store) {
        try {
            return store.get();
        } catch (StoreException failure) {
            throw new StoreUnavailableException(
                    "The store " + place + " could not be opened: " + failure.getMessage(), failure);
        } catch (IllegalArgumentException wrong) {
            throw new NoLockStoreException(
                    "The store " + place + " cannot be used: " + wrong.getMessage(),
                    "Correct holdfast.url, holdfast.store-options, or whatever else names the store, or add the module of that"
                            + " store",
                    wrong);
        } catch (IllegalStateException library) {
            throw new NoLockStoreException(
                    "The store " + place + " cannot be used: " + library.getMessage(),
                    "Correct the versions of the application's libraries: docs/spring-boot.md lists those that each"
                            + " version of Boot brings, and what to set",
                    library);
        }
    }

    static final class UrlIsSet extends KeyIsSet {

        UrlIsSet() {
            super("holdfast.url");
        }
    }
}
