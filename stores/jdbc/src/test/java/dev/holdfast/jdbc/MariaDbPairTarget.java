package dev.holdfast.jdbc;

import dev.holdfast.jdbc.MariaDbPair.Replication;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.nemesis.TargetCluster;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A primary and a replica that are cut off from each other. With semi-synchronous replication no commit of the primary is answered
 * meanwhile, because the replica acknowledges none. Often the replica is promoted then, while the other one still takes itself for the
 * primary; often the waits of its commits were ended before, so that it shows what the replica lacks. Later it is ended, and made the
 * replica of the new primary.
 */
final class MariaDbPairTarget extends TargetCluster {

    static final int SERVERS = 2;

    /** For so long at most there are two that take themselves for the primary. */
    private static final int MOST_MILLIS = 3_000;

    private final Replication replication;
    private final MariaDbPair servers;
    private final String url;
    private final Random random = new Random(Seeds.of("promotions"));
    private int primary;
    private boolean isEnded;
    private int promotions;

    MariaDbPairTarget(ClusterNetwork network, Replication replication) {
        super(network);
        this.replication = replication;
        servers = MariaDbPair.startIn(network, replication);
        // With the usual limit a client would wait for the one that was the primary for longer than that lives.
        url = servers.url() + "&holdfast.busyTimeout=1s";
    }

    @Override
    protected String url() {
        return url;
    }

    @Override
    protected int leader() {
        return primary;
    }

    @Override
    protected void beforeHeal() {
        if (random.nextInt(3) == 0) {
            return;
        }
        if (replication == Replication.SEMI_SYNCHRONOUS) {
            endWaits(random.nextInt(3));
        }
        servers.promote();
        primary = 1 - primary;
        promotions++;
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(MOST_MILLIS)));
        servers.endOldPrimary();
        isEnded = true;
    }

    // A commit whose wait is ended is done at this server alone, and can be read there.
    private void endWaits(int how) {
        switch (how) {
            case 0 -> servers.crashPrimary();
            case 1 -> servers.killWaiting("CONNECTION");
            default -> {}
        }
    }

    @Override
    protected void awaitServers() {
        if (isEnded) {
            servers.follow();
            isEnded = false;
        }
        servers.awaitApplied();
    }

    /** How often the replica was promoted. */
    int promotions() {
        return promotions;
    }

    @Override
    public void close() {
        servers.close();
    }
}
