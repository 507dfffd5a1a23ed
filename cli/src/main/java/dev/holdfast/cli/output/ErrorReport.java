package dev.holdfast.cli.output;

import dev.holdfast.LockConflictException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.StoreUnavailableException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Turns an exception into one line on standard error and an exit code. */
public final class ErrorReport {

    /** The control characters, and those that change the direction in which a terminal writes. */
    private static final Pattern CONTROL =
            Pattern.compile("[\\p{Cc}\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069&&[^\\n\\t]]");

    private ErrorReport() {}

    /** The exit code for {@code thrown}. */
    public static int exitCode(Throwable thrown) {
        if (thrown instanceof Failure failure) {
            return failure.exitCode();
        } else if (thrown instanceof LockTimeoutException) {
            return ExitCode.BUSY;
        } else if (thrown instanceof StoreUnavailableException) {
            return ExitCode.UNAVAILABLE;
        } else if (thrown instanceof LockLostException) {
            return ExitCode.LOST;
        } else if (thrown instanceof LockConflictException
                || thrown instanceof IllegalArgumentException
                || thrown instanceof UnsupportedOperationException) {
            // Names, leases, kinds and URLs are checked by the library before anything is sent.
            return ExitCode.USAGE;
        }
        return ExitCode.INTERNAL;
    }

    /** Writes the line, and the stack trace if {@code verbose}; returns the exit code. */
    public static int print(Throwable thrown, boolean verbose, PrintStream err) {
        int exitCode = exitCode(thrown);
        String message = oneLine(thrown.getMessage());
        if (exitCode == ExitCode.INTERNAL && !(thrown instanceof Failure)) {
            message = thrown.getClass().getSimpleName() + (message.isEmpty() ? "" : ": " + message)
                    + "; this is a defect of holdfast: please report it with the output of -v";
        }
        say(message, err);
        if (verbose) {
            StringWriter trace = new StringWriter();
            thrown.printStackTrace(new PrintWriter(trace));
            err.print(CONTROL.matcher(trace.toString()).replaceAll("?"));
        }
        return exitCode;
    }

    /** Writes a line that begins with the tool's name; it may contain names and messages from anywhere. */
    public static void say(String message, PrintStream err) {
        err.println("holdfast: " + oneLine(message));
    }

    /** The message in one line, without what a terminal takes for a command: it may show an argument as it was given. */
    public static String oneLine(@Nullable String message) {
        return message == null
                ? ""
                : CONTROL.matcher(message.replace('\n', ' ').replace('\r', ' ').replace('\t', ' '))
                        .replaceAll("?")
                        .strip();
    }
}
