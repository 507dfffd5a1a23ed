package dev.holdfast.cli.output;

import org.jspecify.annotations.Nullable;

/** Ends the tool with an exit code and one line for people, which names the cause and the remedy. */
public final class Failure extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final int exitCode;

    public Failure(int exitCode, String message) {
        this(exitCode, message, null);
    }

    public Failure(int exitCode, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.exitCode = exitCode;
    }

    public static Failure usage(String message) {
        return new Failure(ExitCode.USAGE, message);
    }

    public int exitCode() {
        return exitCode;
    }
}
