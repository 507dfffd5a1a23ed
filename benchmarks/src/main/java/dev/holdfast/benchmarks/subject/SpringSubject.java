package dev.holdfast.benchmarks.subject;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.workload.LockSection;
import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;

/**
 * The two libraries that come with Spring: the lock registries of Spring Integration ({@code spring-jdbc}, {@code
 * spring-redis} with its default of polling, {@code spring-redis-pubsub}) and ShedLock ({@code shedlock-jdbc},
 * {@code shedlock-redis}), which does not wait. Connections come from a pool of 20, or from Spring's default for
 * Lettuce.
 */
public final class SpringSubject implements Subject {

    private static final int POOL = 20;

    private final Duration lease;
    private final List<AutoCloseable> opened = new ArrayList<>();
    private @Nullable LockRegistry<?> registry;
    private @Nullable LockProvider provider;

    public SpringSubject(String subject, String target, Duration lease) throws Exception {
        this.lease = lease;
        switch (subject) {
            case "spring-jdbc" -> registry = jdbcRegistry(target);
            case "spring-redis" -> registry = redisRegistry(target, RedisLockType.SPIN_LOCK);
            case "spring-redis-pubsub" -> registry = redisRegistry(target, RedisLockType.PUB_SUB_LOCK);
            case "shedlock-jdbc" ->
                provider = new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
                        .withJdbcTemplate(new JdbcTemplate(pool(target)))
                        .usingDbTime()
                        .build());
            case "shedlock-redis" -> provider = new RedisLockProvider(redis(target));
            default -> throw new IllegalArgumentException("There is no subject " + subject);
        }
    }

    private DataSource pool(String target) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(target);
        config.setMaximumPoolSize(POOL);
        HikariDataSource pool = new HikariDataSource(config);
        opened.add(pool);
        return pool;
    }

    private LettuceConnectionFactory redis(String url) {
        String[] address = url.replace("redis://", "").split(":");
        LettuceConnectionFactory factory = new LettuceConnectionFactory(
                new RedisStandaloneConfiguration(address[0], Integer.parseInt(address[1])));
        factory.afterPropertiesSet();
        factory.start();
        opened.add(factory::destroy);
        return factory;
    }

    private LockRegistry<?> redisRegistry(String url, RedisLockType type) {
        RedisLockRegistry made = new RedisLockRegistry(redis(url), "bench", lease.toMillis());
        made.setRedisLockType(type);
        opened.add(made::destroy);
        return made;
    }

    private LockRegistry<?> jdbcRegistry(String target) {
        DataSource pool = pool(target);
        DefaultLockRepository repository = new DefaultLockRepository(pool);
        repository.setTransactionManager(new DataSourceTransactionManager(pool));
        if (target.contains("postgresql")) {
            // Its documentation advises this for PostgreSQL.
            repository.setInsertQuery(repository.getInsertQuery() + " ON CONFLICT DO NOTHING");
        }
        repository.afterPropertiesSet();
        repository.afterSingletonsInstantiated();
        repository.start();
        opened.add(repository::close);
        return new JdbcLockRegistry(repository, lease);
    }

    @Override
    public Section mutex(String name) {
        if (registry != null) {
            return new LockSection(registry.obtain(name));
        } else if (provider != null) {
            return shedLock(provider, name);
        }
        throw new IllegalStateException("There is neither a registry nor a provider");
    }

    private Section shedLock(LockProvider provider, String name) {
        SimpleLock[] held = new SimpleLock[1];
        return new Section() {
            @Override
            public void enter() {
                held[0] = provider.lock(new LockConfiguration(java.time.Instant.now(), name, lease, Duration.ZERO))
                        .orElseThrow(() -> new IllegalStateException(name + " is not free"));
            }

            @Override
            public void leave() {
                held[0].unlock();
            }
        };
    }

    @Override
    public void close() throws Exception {
        for (int i = opened.size() - 1; i >= 0; i--) {
            opened.get(i).close();
        }
    }
}
