package dev.holdfast.cli.inspect;

import dev.holdfast.cli.option.ToolOptions;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.jdbc.JdbcLockStore;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code holdfast schema}: prints the SQL of a store's tables, for an administrator who may create tables. */
@Command(
        name = "schema",
        header = "Print the SQL statements that make the tables of a store in a database.",
        customSynopsis = "holdfast schema --store URL",
        description = {
            "",
            "Nothing is connected to. Programs that may not make tables themselves open the",
            "store with holdfast.schema=check in the URL.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  holdfast schema --store jdbc:postgresql://db/app | psql -h db app",
            "",
            "Exit codes: 0; 64 usage."
        })
public final class SchemaCommand implements Callable<Integer> {

    @Mixin
    private final ToolOptions tool = new ToolOptions();

    @Override
    public Integer call() {
        String url = tool.storeChoice().url();
        if (!url.startsWith("jdbc:")) {
            throw Failure.usage("a store whose URL begins with jdbc: has tables to make; " + url.replaceAll(":.*", ":")
                    + " has none that you need to make");
        }
        try {
            System.out.print(JdbcLockStore.ddl(url));
        } catch (IllegalArgumentException wrong) {
            throw Failure.usage(String.valueOf(wrong.getMessage()));
        }
        return ExitCode.OK;
    }
}
