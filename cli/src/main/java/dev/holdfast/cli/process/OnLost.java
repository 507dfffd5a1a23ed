package dev.holdfast.cli.process;

/** What happens to the child when its lock is about to be lost. */
public enum OnLost {
    /** SIGTERM at deadline - grace, SIGKILL at deadline - margin. */
    TERM,
    /** SIGKILL at deadline - margin. */
    KILL,
    /** Nothing; the tool still exits with 79 at the end. */
    IGNORE
}
