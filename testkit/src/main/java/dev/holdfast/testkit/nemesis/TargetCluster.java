package dev.holdfast.testkit.nemesis;

/**
 * The servers of one cluster of a {@link Scenario}, which belongs to the test alone. One of them at a time is cut off
 * from the others, while clients reach all of them. Used by one thread at a time.
 */
public interface TargetCluster {

    /** The URL of a store in it for the next client: of one server that it never leaves, or of all. */
    String url();

    /** Cuts the leader off from the others. */
    void cutOffLeader();

    /** Cuts another server than the leader off from the others. */
    void cutOffFollower();

    /** Connects it again, and waits until all servers serve clients. */
    void heal();
}
