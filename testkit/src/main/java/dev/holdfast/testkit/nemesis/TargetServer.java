package dev.holdfast.testkit.nemesis;

import dev.holdfast.testkit.process.ControlledServer;

/** The server of a {@link Scenario}, which belongs to the test alone, and how a store in it is reached. */
public interface TargetServer {

    /** What is disturbed. */
    ControlledServer server();

    /** The URL of a store in it, with another port that leads to it. */
    String url(int port);

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
