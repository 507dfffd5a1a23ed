package dev.holdfast.cli.process;

import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import java.io.File;
import java.util.List;
import java.util.Optional;

/**
 * How a program is started as the leader of a session, and so of a process group, of its own. The JVM cannot do that
 * itself, and a shell's job control needs a terminal, which cron does not have.
 *
 * @param words what to put before the program
 * @param shell the same as text for a shell
 */
public record NewSession(List<String> words, String shell) {

    /** It unblocks SIGQUIT, too, which the JVM blocks in its threads. */
    private static final String PERL =
            "use POSIX; sigprocmask(SIG_UNBLOCK, POSIX::SigSet->new(SIGQUIT)); POSIX::setsid(); exec {$ARGV[0]} @ARGV;"
                    + " exit 127";

    /** setsid(1), which every Linux has, or perl, which macOS has. */
    public static NewSession find(CommandPath path) {
        File setsid = path.find("setsid").or(() -> standard("setsid")).orElse(null);
        if (setsid != null) {
            return new NewSession(List.of(setsid.getPath()), quoted(setsid));
        }
        File perl = path.find("perl").or(() -> standard("perl")).orElse(null);
        if (perl != null) {
            return new NewSession(List.of(perl.getPath(), "-e", PERL), quoted(perl) + " -e '" + PERL + "'");
        }
        throw new Failure(
                ExitCode.INTERNAL,
                "neither setsid nor perl was found, so the command could not be ended as a whole: install util-linux");
    }

    private static Optional<File> standard(String program) {
        return new CommandPath(null).find(program);
    }

    private static String quoted(File file) {
        return "'" + file.getPath().replace("'", "'\\''") + "'";
    }
}
