package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cli.output.ExitCode;
import org.junit.jupiter.api.Test;

/** {@code holdfast schema}. */
class SchemaProcessTest extends ToolTest {

    @Test
    void statementsForADatabaseArePrintedWithoutConnecting() {
        Tool.Result result = tool.run("schema", "--store", "jdbc:postgresql://nowhere.invalid/app");
        assertThat(result.exit()).isZero();
        assertThat(result.out())
                .contains("CREATE TABLE IF NOT EXISTS holdfast_lock")
                .contains("INSERT INTO holdfast_schema");
        assertThat(tool.run("schema", "--store", "jdbc:mariadb://nowhere.invalid/app")
                        .out())
                .contains("VARBINARY(255)");
    }

    @Test
    void changeLogOfLiquibaseHasTheSameStatements() {
        String url = "jdbc:h2:nowhere";
        String plain = tool.run("schema", "--store", url).out();
        assertThat(tool.run("schema", "--store", url, "--liquibase").out())
                .isEqualTo("--liquibase formatted sql\n\n--changeset holdfast:tables-1\n" + plain);
    }

    @Test
    void otherStoresHaveNoTablesToMake() {
        Tool.Result result = tool.run("schema", "--store", "sqlite:" + tool.file("x.db"));
        assertThat(result.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(result.err()).contains("jdbc:");
        assertThat(tool.run("schema", "--store", "jdbc:nothing:x").exit()).isEqualTo(ExitCode.USAGE);
    }
}
