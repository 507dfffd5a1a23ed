package dev.holdfast.testkit.nemesis;

import dev.holdfast.testkit.process.ClusterNetwork;

/**
 * The servers of one cluster of a {@link Scenario}, which belongs to the test alone. One of them at a time is cut off
 * from the others, while clients reach all of them. Used by one thread at a time.
 */
public abstract class TargetCluster implements AutoCloseable {

    private final ClusterNetwork network;

    /** @param network the network of its servers, which it does not close */
    protected TargetCluster(ClusterNetwork network) {
        this.network = network;
    }

    /** The URL of a store in it for the next client: of one server that it never leaves, or of all. */
    protected abstract String url();

    /** Waits until there is a leader, and returns its place in the network. */
    protected abstract int leader();

    /** Waits until all servers serve clients. */
    protected abstract void awaitServers();

    /** Ends the servers. */
    @Override
    public abstract void close();

    final void cutOffLeader() {
        network.cutOff(leader());
    }

    final void cutOffFollower() {
        network.cutOff((leader() + 1) % ClusterNetwork.SERVERS);
    }

    /** Connects it again, and waits until all servers serve clients. */
    final void heal() {
        network.heal();
        awaitServers();
    }
}
