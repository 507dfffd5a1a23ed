package dev.holdfast.shedlock;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.Holdfast;
import dev.holdfast.jdbc.Servers;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider.Configuration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.springframework.jdbc.core.JdbcTemplate;

/** Beside nodes that have their locks in ShedLock's table. */
class PostgresChangeOverTest extends ChangeOverKit {

    private static final String URL = Servers.url("postgresql");
    private static final HikariDataSource POOL = new HikariDataSource();

    @BeforeAll
    static void createTable() {
        POOL.setJdbcUrl(URL);
        POOL.setMaximumPoolSize(4);
        Servers.run(
                URL,
                "CREATE TABLE shedlock (name VARCHAR(64) PRIMARY KEY, lock_until TIMESTAMP NOT NULL,"
                        + " locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL)");
    }

    @AfterAll
    static void stop() {
        POOL.close();
    }

    @Override
    ExtensibleLockProvider old() {
        return new JdbcTemplateLockProvider(Configuration.builder()
                .withJdbcTemplate(new JdbcTemplate(POOL))
                .usingDbTime()
                .build());
    }

    @Override
    Holdfast connect() {
        return Holdfast.connect(URL);
    }
}
