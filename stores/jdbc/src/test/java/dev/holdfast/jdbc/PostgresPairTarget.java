package dev.holdfast.jdbc;

import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.nemesis.TargetCluster;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A primary and a synchronous standby that are cut off from each other. No commit of the primary is answered meanwhile, because the
 * standby acknowledges none. Often the standby is promoted then, while the other one still takes itself for the primary; most often
 * somebody has ended the waits of its commits before, so that it shows what the standby lacks. Later it is ended, and made the standby
 * of the new primary.
 */
final class PostgresPairTarget extends TargetCluster {

    static final int SERVERS = 2;

    /** For so long at most there are two that take themselves for the primary. */
    private static final int MOST_MILLIS = 3_000;

    private final List<PostgresServer> servers;
    private final String schema;
    private final Random random = new Random(Seeds.of("promotions"));
    private int primary;
    private int promotions;

    PostgresPairTarget(ClusterNetwork network) {
        super(network);
        servers = List.of(PostgresServer.startIn(network, 0), PostgresServer.prepareIn(network, 1));
        schema = primary().newSchema().replaceAll(".*currentSchema=", "");
        standby().follow(primary());
        primary().commitOnStandbyToo();
    }

    private PostgresServer primary() {
        return servers.get(primary);
    }

    private PostgresServer standby() {
        return servers.get(1 - primary);
    }

    // With the usual limit a client would wait for the one that was the primary for longer than that lives.
    @Override
    protected String url() {
        return "jdbc:postgresql://" + servers.get(1).address() + ","
                + servers.get(0).address()
                + "/postgres?user=holdfast&currentSchema=" + schema
                + "&targetServerType=primary&hostRecheckSeconds=1&holdfast.busyTimeout=1s";
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
        PostgresServer old = primary();
        endWaits(old, random.nextInt(4));
        standby().commitAlone();
        standby().promote();
        primary = 1 - primary;
        promotions++;
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(MOST_MILLIS)));
        old.end();
    }

    // A commit whose wait is ended is done at this server alone, and can be read there.
    private static void endWaits(PostgresServer server, int how) {
        switch (how) {
            case 0 -> server.crashProcesses();
            case 1 -> server.endWaitsForStandby("pg_cancel_backend");
            case 2 -> server.endWaitsForStandby("pg_terminate_backend");
            default -> {}
        }
    }

    @Override
    protected void awaitServers() {
        if (!standby().isRunning()) {
            standby().follow(primary());
        }
        primary().commitOnStandbyToo();
    }

    /** How often the standby was promoted. */
    int promotions() {
        return promotions;
    }

    @Override
    public void close() {
        servers.forEach(PostgresServer::close);
    }
}
