package dev.holdfast.cli.output;

import dev.holdfast.LockConflictException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.StoreUnavailableException;
import java.io.PrintStream;
import org.jspecify.annotations.Nullable;

/** Turns an exception into one line on standard error and an exit code. */
public final class ErrorReport {

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
        } else if (thrown instanceof LockConflictException || thrown instanceof IllegalArgumentException) {
            // Names, leases and URLs are checked by the library before anything is sent.
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
        err.println("holdfast: " + message);
        if (verbose) {
            thrown.printStackTrace(err);
        }
        return exitCode;
    }

    public static String oneLine(@Nullable String message) {
        return message == null
                ? ""
                : message.replace('\n', ' ').replace('\r', ' ').strip();
    }
}
