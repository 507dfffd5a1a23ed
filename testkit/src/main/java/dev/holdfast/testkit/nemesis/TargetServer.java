package dev.holdfast.testkit.nemesis;

/** The server of a {@link Scenario}, which belongs to the test alone. Used by one thread at a time. */
public interface TargetServer {

    /** The port that it listens on. */
    int port();

    /** The URL of a store in it, with another port that leads to it. */
    String url(int port);

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

    /** A server whose grants last as long as a session of the client. */
    interface WithSessions extends TargetServer {

        /**
         * Ends the session of the client that holds the lock, by its id.
         *
         * @return false if nobody held it
         */
        boolean endSessionOfHolder(String lock);
    }
}
