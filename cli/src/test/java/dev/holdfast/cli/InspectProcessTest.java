package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cli.Tool.Result;
import dev.holdfast.cli.Tool.Running;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The commands that show locks and break them. */
class InspectProcessTest extends ToolTest {

    @Test
    void showAndListPrintWhoHoldsAndWaits() {
        Running holder = tool.start("run", "a", "--", "sh", "-c", "echo $HOLDFAST_TOKEN > token; " + Tool.UNTIL_SIGNAL);
        String token = tool.await("token");
        Running waiter = tool.start("run", "a", "--", "true");
        Tool.await("the waiter", () -> tool.run("show", "a").out().contains("1 holder, 1 waiter\n"));

        assertThat(tool.run("show", "a").out())
                .startsWith("\"a\": mutex, 1 holder, 1 waiter\n")
                .contains(token, "pid " + holder.process().pid(), "\"sh\"", "waits");
        assertThat(tool.run("show", "--json", "a").out())
                .startsWith("{\"name\": \"a\", \"kind\": \"mutex\", \"limit\": 1, \"holders\": [{")
                .contains(
                        "\"token\": \"" + token + "\"",
                        "\"pid\": " + holder.process().pid());
        assertThat(tool.run("list").out()).containsPattern("a +mutex +1 +1 ");
        assertThat(tool.run("list", "b").out()).isEqualTo("no locks are in use\n");
        assertThat(tool.run("list", "--json", "b").out()).isEqualTo("[]\n");

        waiter.signal("TERM");
        waiter.await();
        holder.signal("TERM");
        holder.await();
        assertThat(tool.run("show", "a")).isEqualTo(new Result(0, "\"a\": nobody holds it and nobody waits\n", ""));
    }

    @Test
    void breakNeedsATerminalOrYes() {
        Result refused = tool.run("break", "x");
        assertThat(refused.exit()).isEqualTo(64);
        assertThat(refused.err()).contains("--yes").hasLineCount(1);
        Result nothing = tool.run("break", "--yes", "x");
        assertThat(nothing.exit()).isEqualTo(1);
        assertThat(nothing.err()).contains("nobody holds");
    }

    @Test
    void whatTheToolDoesNotKnowIsNamedWithWhatItKnows() {
        assertThat(tool.run("lock", "x"))
                .isEqualTo(new Result(
                        64,
                        "",
                        "holdfast: \"lock\" is no command of holdfast: there are run, elect, list, show, break, schema, demo,"
                                + " bench, completion; see: holdfast --help\n"));
        assertThat(tool.run("show", "a", "b").err())
                .isEqualTo("holdfast: \"b\" is one argument too many for holdfast show; see: holdfast show --help\n");
        assertThat(tool.run("list", "--all").err()).contains("\"--all\" is no option of holdfast list");
        assertThat(tool.run("run", "a", "true").err()).contains("the command goes behind --");
        assertThat(tool.run("run").err()).contains("holdfast run NAME -- COMMAND");
    }

    @Test
    void completionVersionAndHelpArePrinted() {
        assertThat(tool.run("completion", "bash").out()).contains("complete -F", "flash-sale", "--max-hold");
        assertThat(tool.run("completion", "zsh").out()).startsWith("autoload");
        assertThat(tool.run("completion", "fish").exit()).isEqualTo(64);
        assertThat(tool.run("--version").out()).startsWith("holdfast ");
        assertThat(tool.run("--help").out()).contains("holdfast run -n report");
        for (String command : new String[] {"run", "elect", "list", "show", "break", "schema", "demo", "bench"}) {
            Result help = tool.run(command, "--help");
            assertThat(help.exit()).isZero();
            assertThat(help.out()).contains("Examples:");
        }
    }

    @Test
    void theFlashSaleOversellsWithoutTheLockOnly() {
        Result without = tool.run("demo", "flash-sale", "--no-lock", "--customers", "40");
        assertThat(without.exit()).isZero();
        assertThat(without.out()).containsPattern("Oversold: \\d+ sold of 3, \\d+ too many");
        Result with = tool.run("demo", "flash-sale", "--customers", "40");
        assertThat(with.err()).isEmpty();
        assertThat(with.exit()).isZero();
        assertThat(with.out()).contains("Nothing was oversold: 3 sold of 3.");
    }

    /** Everybody on the machine can see the arguments of a process, and the URL may have a password. */
    @Test
    void theProcessesOfTheFlashSaleDoNotShowTheStoresUrl() {
        tool.with("HOLDFAST_STORE", "sqlite:" + tool.file("not-shown.db"));
        Running demo = tool.start("demo", "flash-sale", "--customers", "40");
        List<String> seen = new ArrayList<>();
        Tool.await("a process that sells", () -> seen.addAll(clerks(demo)));
        assertThat(seen).noneMatch(arguments -> arguments.contains("not-shown"));
        Result result = demo.await();
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(tool.file("not-shown.db")).exists();
    }

    private static List<String> clerks(Running demo) {
        return demo.process()
                .descendants()
                .map(Tool::arguments)
                .filter(arguments -> arguments.contains("FlashSaleClerk"))
                .toList();
    }
}
