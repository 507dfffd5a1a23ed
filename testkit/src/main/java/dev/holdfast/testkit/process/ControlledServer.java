package dev.holdfast.testkit.process;

/** A server that a test can freeze, kill and start again. Used by one thread at a time. */
public interface ControlledServer {

    /** The port that it listens on. */
    int port();

    /** Stops all its processes (SIGSTOP). */
    void freeze();

    /** Lets it go on after {@link #freeze} (SIGCONT). */
    void thaw();

    /** Ends it at once (SIGKILL). */
    void kill();

    /** Whether its process exists, running or frozen. */
    boolean isRunning();

    /** Starts it after {@link #kill} on the same port and data, and waits until it serves clients. */
    void startAgain();
}
