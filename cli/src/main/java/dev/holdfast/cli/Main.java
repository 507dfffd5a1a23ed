package dev.holdfast.cli;

import dev.holdfast.cli.bench.BenchCommand;
import dev.holdfast.cli.demo.DemoCommand;
import dev.holdfast.cli.elect.ElectCommand;
import dev.holdfast.cli.inspect.BreakCommand;
import dev.holdfast.cli.inspect.ListCommand;
import dev.holdfast.cli.inspect.SchemaCommand;
import dev.holdfast.cli.inspect.ShowCommand;
import dev.holdfast.cli.option.ToolOptions;
import dev.holdfast.cli.output.ErrorReport;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.cli.process.CharacterSet;
import dev.holdfast.cli.run.RunCommand;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command line tool: finds the subcommand, runs it, exits with its code. */
final class Main implements Runnable, IParameterExceptionHandler, IExecutionExceptionHandler {

    private static final List<String> NAMES =
            List.of("run", "elect", "list", "show", "break", "schema", "demo", "bench", "completion");

    /** Those that run a command of the user's. */
    private static final List<String> RUNNERS = List.of("run", "elect");

    /** Everything after this word is the command that one of the {@link #RUNNERS} runs. */
    private static final String END_OF_OPTIONS = "--";

    private static final String[] FOOTER = {
        "",
        "Examples:",
        "  holdfast run -n report -- ./report.sh       # exit 1 at once if busy",
        "  holdfast run -w 60s deploy -- make deploy   # wait at most a minute",
        "  holdfast elect billing -- ./billing.sh      # run it in one place at a time",
        "  holdfast list",
        "  holdfast show deploy",
        "  holdfast demo flash-sale                    # see what a lock is for",
        "",
        "Locks are kept in a SQLite file of yours, or where --store URL or HOLDFAST_STORE",
        "says.",
        "'holdfast COMMAND --help' shows the options of a command."
    };

    private final boolean verbose;

    private Main(List<String> args) {
        this.verbose = args.contains("-v") || args.contains("--verbose");
    }

    /** Runs the tool. */
    public static void main(String[] args) {
        System.exit(execute(args, System.nanoTime()));
    }

    static int execute(String[] given, long startNanos) {
        String[] args = commandFirst(given);
        int split = Arrays.asList(args).indexOf(END_OF_OPTIONS);
        boolean isRun = args.length > 0 && RUNNERS.contains(args[0]) && split >= 0;
        String[] own = isRun ? Arrays.copyOf(args, split) : args;
        List<String> command = isRun ? List.of(args).subList(split + 1, args.length) : List.of();
        Main main = new Main(Arrays.asList(own));
        try {
            CharacterSet.requireReadable(Arrays.asList(args));
            return main.commandLine(own, command, startNanos).execute(own);
        } catch (RuntimeException | Error failed) {
            return ErrorReport.print(failed, main.verbose, System.err);
        }
    }

    /** Puts the options that most commands have behind the command, if they are before it: both orders are typed. */
    static String[] commandFirst(String[] args) {
        int at = 0;
        while (at < args.length && isOptionOfMost(args[at])) {
            at += args[at].equals("--store") ? 2 : 1;
        }
        if (at == 0 || at >= args.length || !NAMES.contains(args[at])) {
            return args;
        }
        List<String> ordered = new ArrayList<>(List.of(args[at]));
        ordered.addAll(List.of(args).subList(0, at));
        ordered.addAll(List.of(args).subList(at + 1, args.length));
        return ordered.toArray(String[]::new);
    }

    private static boolean isOptionOfMost(String word) {
        return word.equals("--store") || word.startsWith("--store=") || word.equals("-v") || word.equals("--verbose");
    }

    /** Returns the command line with all subcommands, for the completion script. */
    static CommandLine everyCommand() {
        return new Main(List.of()).commandLine(new String[0], List.of(), 0);
    }

    private CommandLine commandLine(String[] args, List<String> command, long startNanos) {
        CommandLine line = new CommandLine(spec());
        // Only the subcommand that will run is created, because each costs some milliseconds of reflection.
        List<String> wanted = args.length > 0 && NAMES.contains(args[0]) ? List.of(args[0]) : NAMES;
        for (String name : wanted) {
            line.addSubcommand(name, subcommand(name, command, startNanos));
        }
        // A lock's name may begin with @; picocli would otherwise read options from a file of that name.
        line.setExpandAtFiles(false);
        line.setParameterExceptionHandler(this);
        line.setExecutionExceptionHandler(this);
        return line;
    }

    private CommandSpec spec() {
        CommandSpec spec = CommandSpec.wrapWithoutInspection(this).name("holdfast");
        spec.usageMessage()
                .header("One lock for all your processes, on the store you already run.")
                .customSynopsis("holdfast COMMAND [OPTIONS] ...")
                .description("")
                .footer(FOOTER);
        spec.versionProvider(new ToolVersion());
        spec.addOption(OptionSpec.builder("-h", "--help")
                .usageHelp(true)
                .type(boolean.class)
                .description(ToolOptions.HELP_TEXT)
                .build());
        spec.addOption(OptionSpec.builder("-V", "--version")
                .versionHelp(true)
                .type(boolean.class)
                .description("Show the version.")
                .build());
        return spec;
    }

    private static Object subcommand(String name, List<String> command, long startNanos) {
        return switch (name) {
            case "run" -> new RunCommand(command, startNanos).spec();
            case "elect" -> new ElectCommand(command, startNanos);
            case "list" -> new ListCommand();
            case "show" -> new ShowCommand();
            case "break" -> new BreakCommand();
            case "schema" -> new SchemaCommand();
            case "demo" -> new DemoCommand();
            case "bench" -> new BenchCommand();
            default -> new CompletionCommand();
        };
    }

    @Override
    public int handleParseException(ParameterException wrong, String[] args) {
        String command = wrong.getCommandLine().getCommandSpec().qualifiedName();
        ErrorReport.say(message(wrong, command) + "; see: " + command + " --help", System.err);
        return ExitCode.USAGE;
    }

    private static String message(ParameterException wrong, String command) {
        if (!(wrong instanceof UnmatchedArgumentException unmatched)) {
            return String.valueOf(wrong.getMessage());
        }
        String first = '"' + unmatched.getUnmatched().get(0) + '"';
        boolean isRunner = RUNNERS.stream().anyMatch(name -> command.endsWith(" " + name));
        String remedy = isRunner ? ": the command goes behind --" : "";
        if (unmatched.isUnknownOption()) {
            return first + " is no option of " + command + remedy;
        } else if (command.equals("holdfast")) {
            return first + " is no command of holdfast: there are " + String.join(", ", NAMES);
        }
        return first + " is one argument too many for " + command + remedy;
    }

    @Override
    public int handleExecutionException(Exception failed, CommandLine at, ParseResult given) {
        return ErrorReport.print(failed, verbose, System.err);
    }

    @Override
    public void run() {
        throw Failure.usage("name a command: " + String.join(", ", NAMES) + "; see: holdfast --help");
    }
}
