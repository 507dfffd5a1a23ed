package dev.holdfast.cli.process;

import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import java.io.File;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Finds programs as execvp(3) does, so that a wrong command is refused before the lock is taken. */
public final class CommandPath {

    /** What the C library searches if PATH is not set. */
    private static final String DEFAULT_PATH = "/bin:/usr/bin";

    private final String path;

    CommandPath(@Nullable String path) {
        this.path = path == null ? DEFAULT_PATH : path;
    }

    public static CommandPath ofEnvironment() {
        return new CommandPath(System.getenv("PATH"));
    }

    /** The file to execute, if there is one. */
    Optional<File> find(String program) {
        Search search = search(program);
        return Optional.ofNullable(search.executable);
    }

    /**
     * The file that a program's name leads to.
     *
     * @return the file to execute
     * @throws Failure with 127 if there is none, 126 if there is one that cannot be executed
     */
    public File require(String program) {
        Search search = search(program);
        if (search.executable != null) {
            return search.executable;
        } else if (search.other == null) {
            throw new Failure(ExitCode.NOT_FOUND, notFound(program));
        }
        String why = search.other.isDirectory()
                ? " is a directory"
                : " is not executable: chmod +x it, or name its interpreter";
        throw new Failure(ExitCode.NOT_EXECUTABLE, search.other + why);
    }

    private record Search(
            @Nullable File executable, @Nullable File other) {}

    private Search search(String program) {
        if (program.indexOf('/') >= 0) {
            return look(new File(program), null);
        }
        File other = null;
        int at = 0;
        while (!program.isEmpty() && at <= path.length()) {
            int colon = path.indexOf(':', at);
            int end = colon < 0 ? path.length() : colon;
            // An empty entry of PATH is the current folder.
            Search here = look(new File(end == at ? "." : path.substring(at, end), program), other);
            if (here.executable != null) {
                return here;
            }
            other = here.other;
            at = end + 1;
        }
        return new Search(null, other);
    }

    private static Search look(File file, @Nullable File other) {
        if (file.isFile() && file.canExecute()) {
            return new Search(file, other);
        }
        return new Search(null, other == null && file.exists() ? file : other);
    }

    private static String notFound(String program) {
        if (program.isEmpty()) {
            return "the command is empty: name a program after --";
        }
        return program.indexOf('/') >= 0
                ? program + " does not exist"
                : program + " was not found in PATH: check the spelling, or write its full path";
    }
}
