package dev.holdfast.cli.inspect;

import dev.holdfast.cli.option.ToolOptions;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.jdbc.JdbcLockStore;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code holdfast schema}: prints the SQL of a store's tables, for an administrator who may create tables. */
@Command(
        name = "schema",
        header = "Print the SQL statements that make the tables of a store in a database.",
        customSynopsis = "holdfast schema --store URL [--liquibase]",
        description = {
            "",
            "Nothing is connected to. Programs that may not make tables themselves open the",
            "store with holdfast.schema=check in the URL.",
            "",
            "Flyway takes the statements as they are.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  holdfast schema --store jdbc:postgresql://db/app | psql -h db app",
            "  holdfast schema --store jdbc:mariadb://db/app > V7__locks.sql",
            "  holdfast schema --store jdbc:h2:app --liquibase > locks.sql",
            "",
            "Exit codes: 0; 64 usage."
        })
public final class SchemaCommand implements Callable<Integer> {

    // A change that Liquibase has made is known by author and id, so these must stay as they are.
    private static final String CHANGE_LOG = "--liquibase formatted sql\n\n--changeset holdfast:tables-1\n";

    @Mixin
    private final ToolOptions tool = new ToolOptions();

    @Option(
            names = "--liquibase",
            description = "Begin with the lines that make it a change log of Liquibase in formatted SQL.")
    private boolean liquibase;

    @Override
    public Integer call() {
        String url = tool.storeChoice().url();
        if (!url.startsWith("jdbc:")) {
            throw Failure.usage("a store whose URL begins with jdbc: has tables to make; " + url.replaceAll(":.*", ":")
                    + " has none that you need to make");
        }
        try {
            System.out.print((liquibase ? CHANGE_LOG : "") + JdbcLockStore.ddl(url));
        } catch (IllegalArgumentException wrong) {
            throw Failure.usage(String.valueOf(wrong.getMessage()));
        }
        return ExitCode.OK;
    }
}
