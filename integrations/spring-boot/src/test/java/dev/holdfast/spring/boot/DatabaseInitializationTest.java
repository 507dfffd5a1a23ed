package dev.holdfast.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import java.util.List;
import java.util.Optional;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.init.DataSourceScriptDatabaseInitializer;
import org.springframework.boot.sql.init.DatabaseInitializationSettings;
import org.springframework.boot.sql.init.dependency.DatabaseInitializationDependencyConfigurer;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;

/** Locks in a database that the application changes when it starts, as Flyway and Liquibase do. */
class DatabaseInitializationTest {

    /** Flyway refuses a schema that has tables already. */
    @Test
    void theStoreIsOpenedAfterTheDatabaseWasInitialized() {
        new ApplicationContextRunner()
                .withUserConfiguration(Application.class)
                .withConfiguration(
                        AutoConfigurations.of(HoldfastAutoConfiguration.class, DataSourceAutoConfiguration.class))
                .withPropertyValues("spring.datasource.url=jdbc:h2:mem:" + System.nanoTime())
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBean(Migration.class).found).contains(List.of());
                    assertThat(Migration.tables(context.getBean(DataSource.class)))
                            .isNotEmpty();
                });
    }

    @Configuration(proxyBeanMethods = false)
    @Import(DatabaseInitializationDependencyConfigurer.class)
    static class Application {

        /** It comes first, and would have the store opened before the migration. */
        @Bean
        Object user(Holdfast locks) {
            return locks.lock("a");
        }

        @Bean
        Migration migration(DataSource database) {
            return new Migration(database);
        }
    }

    /** Stands for Flyway: of a type that Boot knows to initialize a database. */
    static class Migration extends DataSourceScriptDatabaseInitializer {

        private final DataSource database;
        Optional<List<String>> found = Optional.empty();

        Migration(DataSource database) {
            super(database, new DatabaseInitializationSettings());
            this.database = database;
        }

        @Override
        public boolean initializeDatabase() {
            found = Optional.of(tables(database));
            return true;
        }

        static List<String> tables(DataSource database) {
            return new JdbcTemplate(database)
                    .queryForList(
                            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'PUBLIC'",
                            String.class);
        }
    }
}
