package dev.holdfast.testkit.nemesis;

import dev.holdfast.testkit.process.ClusterNetwork;
import dev.holdfast.testkit.process.ClusterNetwork.Way;
import java.util.Random;

/**
 * The servers of one cluster of a {@link Scenario}, which belongs to the test alone. One of them at a time is cut off
 * from the others, in both directions or one, while clients reach all of them. Used by one thread at a time.
 */
public abstract class TargetCluster implements AutoCloseable {

    /** The lock under which clients add. */
    protected static final String LOCK = Adder.LOCK;

    private final ClusterNetwork network;

    /** @param network the network of its servers, which it does not close */
    protected TargetCluster(ClusterNetwork network) {
        this.network = network;
    }

    /** The URL of a store in it for the next client: of one server that it never leaves, or of all. */
    protected abstract String url();

    /** Waits until there is a leader of those who serve the lock, and returns its place in the network. */
    protected abstract int leader();

    /** Waits until all servers serve clients. */
    protected abstract void awaitServers();

    /** What is done while a server is still cut off, and then it is connected again: to let another one lead, perhaps. */
    protected void beforeHeal() {}

    /** Ends the servers. */
    @Override
    public abstract void close();

    /** Cuts a server off, as the kind of the fault says. */
    final void cutOff(Injection kind, Random random) {
        int leader = leader();
        int follower = (leader + 1 + random.nextInt(network.size() - 1)) % network.size();
        boolean acknowledgementsToo = random.nextBoolean();
        switch (kind) {
            case CUT_OFF_LEADER -> network.cutOff(leader);
            case CUT_OFF_FOLLOWER -> network.cutOff(follower);
            case DROP_FROM_LEADER -> network.drop(leader, Way.FROM_SERVER, acknowledgementsToo);
            case DROP_TO_LEADER -> network.drop(leader, Way.TO_SERVER, acknowledgementsToo);
            case DROP_FROM_FOLLOWER -> network.drop(follower, Way.FROM_SERVER, acknowledgementsToo);
            case DROP_TO_FOLLOWER -> network.drop(follower, Way.TO_SERVER, acknowledgementsToo);
            default -> throw new AssertionError(kind);
        }
    }

    /** Connects it again, and waits until all servers serve clients. */
    final void heal() {
        beforeHeal();
        network.heal();
        awaitServers();
    }
}
