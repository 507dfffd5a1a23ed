package dev.holdfast.cli.run;

import dev.holdfast.cli.option.DurationConverter;
import dev.holdfast.cli.option.ToolOptions;
import java.time.Duration;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * The command line of {@code holdfast run}. It is defined by calls and not by annotations, because reading those
 * takes 60 ms, a fifth of a short run.
 */
final class RunOptions {

    static final String NONBLOCK = "-n";
    static final String WAIT = "-w";
    static final String SHARED = "-s";
    static final String EXCLUSIVE = "-x";
    static final String PERMITS = "--permits";
    static final String OF = "--of";
    static final String KEY = "-k";
    static final String BUSY_CODE = "-E";
    static final String LEASE = "--lease";
    static final String MAX_HOLD = "--max-hold";
    static final String GRACE = "--grace";
    static final String ON_LOST = "--on-lost";
    static final String STORE = "--store";
    static final String VERBOSE = "-v";

    private static final String[] DESCRIPTION = {
        "",
        "Waits for the lock NAME, runs COMMAND (a program and its arguments, no shell) and frees the lock when it"
                + " ends. If the lock is about to be lost, COMMAND and all processes of its group are ended first.",
        "",
        "COMMAND finds HOLDFAST_LOCK, HOLDFAST_TOKEN, HOLDFAST_OWNER and HOLDFAST_DEADLINE_MS in its environment.",
        "",
        "DUR is 500ms, 5s, 2m, 1h, 1d, seconds as 2.5, or PT5S.",
        ""
    };

    private static final String[] FOOTER = {
        "",
        "Examples:",
        "  holdfast run -n report -- ./report.sh             # exit 1 at once if busy",
        "  holdfast run -w 60s deploy -- ansible-playbook site.yml",
        "  holdfast run --of 4 gpu -- python train.py        # at most 4 at once",
        "  holdfast run -s catalogue -- ./read.sh            # with others that read",
        "  holdfast run -x catalogue -- ./rebuild.sh         # alone",
        "  holdfast run -k customers orders -- ./move.sh     # both or none",
        "",
        "Exit codes: the command's own; 128+n if signal n ended it; 1 (or -E) busy or",
        "timed out; 64 usage; 69 store unreachable; 70 internal; 79 lock lost;",
        "126 not executable; 127 not found."
    };

    private RunOptions() {}

    static CommandSpec spec(RunCommand command) {
        CommandSpec spec = CommandSpec.wrapWithoutInspection(command).name("run");
        spec.usageMessage()
                .header("Run a command while holding a lock.")
                .customSynopsis("holdfast run [OPTIONS] NAME -- COMMAND [ARG...]")
                .description(DESCRIPTION)
                .sortOptions(false)
                .footer(FOOTER);
        addWaiting(spec);
        addKinds(spec);
        addLoss(spec);
        spec.addOption(text("URL", ToolOptions.STORE_TEXT, STORE));
        spec.addOption(flag(ToolOptions.VERBOSE_TEXT, VERBOSE, "--verbose"));
        spec.addOption(OptionSpec.builder("-h", "--help")
                .usageHelp(true)
                .type(boolean.class)
                .description(ToolOptions.HELP_TEXT)
                .build());
        spec.addPositional(PositionalParamSpec.builder()
                .index("0")
                .arity("1")
                .type(String.class)
                .paramLabel("NAME")
                .description("The lock: 1 to 255 bytes of UTF-8.")
                .build());
        return spec;
    }

    private static void addWaiting(CommandSpec spec) {
        spec.addOption(flag("Do not wait: exit with 1 (or -E) if the lock is not free.", NONBLOCK, "--nonblock"));
        spec.addOption(duration("Wait so long at most, then exit with 1 (or -E). Default: for ever.", WAIT, "--wait"));
        spec.addOption(number(
                "CODE",
                "The exit code for busy and timed out, 0 to 255. Default: 1.",
                BUSY_CODE,
                "--conflict-exit-code"));
    }

    private static void addKinds(CommandSpec spec) {
        spec.addOption(flag("Take the read lock: together with others that use -s.", SHARED, "--shared"));
        spec.addOption(flag(
                "Take the write lock: alone, on a name that others take with -s. Without -s, -x and --of the lock is a mutex.",
                EXCLUSIVE,
                "--exclusive"));
        spec.addOption(number("K", "Take K permits of a semaphore. Default: 1. Needs --of.", PERMITS));
        spec.addOption(number("N", "The semaphore has N permits in all.", OF));
        spec.addOption(OptionSpec.builder(KEY, "--key")
                .type(String[].class)
                .paramLabel("NAME")
                .description("Take this mutex too, all or none. May be repeated.")
                .build());
    }

    private static void addLoss(CommandSpec spec) {
        spec.addOption(duration(
                "How long the lock outlives a tool that died; renewed while it runs. 100ms to 24h. Default: 30s.",
                LEASE));
        spec.addOption(duration(
                "Hold the lock so long at most, then end the command. At least 100ms. Default: no limit.", MAX_HOLD));
        spec.addOption(duration(
                "How long before the lock is lost the command gets SIGTERM. At most half the lease. Default: a sixth of the"
                        + " lease, at most 5s.",
                GRACE));
        spec.addOption(text(
                "term|kill|ignore",
                "What to do before the lock is lost: SIGTERM then SIGKILL, SIGKILL only, or nothing. Default: term.",
                ON_LOST));
    }

    private static OptionSpec flag(String description, String... names) {
        return OptionSpec.builder(names)
                .type(boolean.class)
                .description(description)
                .build();
    }

    private static OptionSpec duration(String description, String... names) {
        return OptionSpec.builder(names)
                .type(Duration.class)
                .converters(new DurationConverter())
                .paramLabel("DUR")
                .description(description)
                .build();
    }

    private static OptionSpec number(String label, String description, String... names) {
        return OptionSpec.builder(names)
                .type(Integer.class)
                .paramLabel(label)
                .description(description)
                .build();
    }

    private static OptionSpec text(String label, String description, String name) {
        return OptionSpec.builder(name)
                .type(String.class)
                .paramLabel(label)
                .description(description)
                .build();
    }
}
