package dev.holdfast.cli;

/** What the tool's exit codes mean; those from 64 on are those of {@code sysexits.h} and of the shell. */
final class ExitCode {

    static final int OK = 0;
    /** The lock was busy or the wait timed out; {@code run -E} chooses another. {@code break}: not, or not all, broken. */
    static final int BUSY = 1;
    /** The command line is wrong. Nothing was sent. */
    static final int USAGE = 64;
    /** The store could not be reached. */
    static final int UNAVAILABLE = 69;
    /** The tool, or the system below it, failed. */
    static final int INTERNAL = 70;
    /** The lock was lost before the command had ended. */
    static final int LOST = 79;
    /** The command was found and cannot be executed. */
    static final int NOT_EXECUTABLE = 126;
    /** The command was not found. */
    static final int NOT_FOUND = 127;
    /** 128 + n: signal n ended the command, or the wait. */
    static final int SIGNAL = 128;

    private ExitCode() {}
}
