package dev.holdfast.cli.output;

/** The tool's exit codes; those from 64 on are those of {@code sysexits.h} and of the shell. */
public final class ExitCode {

    public static final int OK = 0;
    /**
     * The lock was busy or the wait timed out; {@code run -E} chooses another code. For {@code break}: not all
     * broken.
     */
    public static final int BUSY = 1;
    /** The command line is wrong. Nothing was sent. */
    public static final int USAGE = 64;
    /** The store could not be reached. */
    public static final int UNAVAILABLE = 69;
    /** The tool, or the system below it, failed. */
    public static final int INTERNAL = 70;
    /** The lock was lost before the command had ended. */
    public static final int LOST = 79;
    /** The command was found and cannot be executed. */
    public static final int NOT_EXECUTABLE = 126;
    /** The command was not found. */
    public static final int NOT_FOUND = 127;
    /** The base of 128 + n: signal n ended the command, or the wait. */
    public static final int SIGNAL = 128;

    private ExitCode() {}
}
