package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.jdbc.MariaDbPair.Replication;
import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.OnDemand;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Processes add to a set under one lock in one database, while they, their lines and the server are disturbed. */
@Timeout(3_600)
class NemesisTest {

    private static final Duration LEASE = Duration.ofSeconds(1);

    @TempDir
    Path folder;

    @Test
    void nothingIsLostAndNoTwoHoldAtOnceOnSqlite() {
        FaultRun.run(onSqlite());
    }

    /** The lock alone does not help against a holder that goes on after it was frozen; so the check is one that finds this. */
    @Test
    void staleWriteLosesWhatOthersHaveAddedIfTheSetTakesIt() {
        Scenario open = onSqlite().withoutFence().with(Injection.FREEZE_HOLDER);
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(() -> FaultRun.run(open))
                .withMessageContaining("elements that were added and are lost");
    }

    @Test
    void nothingIsLostAndNoTwoHoldAtOnceOnPostgres() {
        FaultRun.run(Scenario.onServer(new PostgresTarget(PostgresServer.shared()), LEASE, LEASE));
    }

    @Test
    void nothingIsLostAndNoTwoHoldAtOnceOnMariaDb() {
        FaultRun.run(Scenario.onServer(new MariaDbTarget(MariaDbServer.shared()), LEASE, LEASE));
    }

    /** Clients reach both servers meanwhile, also while each of them takes itself for the primary. */
    @Test
    @OnDemand
    void nothingIsLostWhenAReplicaIsCutOffAndPromotedOnMariaDb() {
        runOnPair(Replication.SEMI_SYNCHRONOUS);
    }

    /** Such a replica lacks grants; so the check is one that finds this. */
    @Test
    @OnDemand
    void twoHoldWhenAReplicaThatNobodyWaitsForIsCutOffAndPromotedOnMariaDb() {
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(() -> runOnPair(Replication.ASYNCHRONOUS))
                .withMessageContaining("were held at once");
    }

    private static void runOnPair(Replication replication) {
        try (ClusterNetwork network = new ClusterNetwork(MariaDbPairTarget.SERVERS);
                MariaDbPairTarget servers = new MariaDbPairTarget(network, replication)) {
            Duration lease = LEASE.multipliedBy(4);
            try {
                FaultRun.run(Scenario.onCluster(servers, lease, lease));
            } finally {
                System.out.println(servers.promotions() + " promotions");
            }
            assertThat(servers.promotions()).isPositive();
        }
    }

    /** Clients reach both servers meanwhile, also while each of them takes itself for the primary. */
    @Test
    @OnDemand
    void nothingIsLostWhenAStandbyIsCutOffAndPromotedOnPostgres() {
        try (ClusterNetwork network = new ClusterNetwork(PostgresPairTarget.SERVERS);
                PostgresPairTarget servers = new PostgresPairTarget(network)) {
            Duration lease = LEASE.multipliedBy(4);
            FaultRun.run(Scenario.onCluster(servers, lease, lease));
            System.out.println(servers.promotions() + " promotions");
            assertThat(servers.promotions()).isPositive();
        }
    }

    @Test
    @OnDemand
    void aClientThatHasHadNoMemoryGoesOnOnSqlite() {
        FaultRun.run(onSqlite().with(Injection.NO_MEMORY, Injection.FREEZE_HOLDER));
    }

    @Test
    @OnDemand
    void aClientThatHasHadNoMemoryGoesOnOnPostgres() {
        FaultRun.run(Scenario.onServer(new PostgresTarget(PostgresServer.shared()), LEASE, LEASE)
                .with(Injection.NO_MEMORY, Injection.FREEZE_HOLDER));
    }

    private Scenario onSqlite() {
        return Scenario.onFile("sqlite:" + folder.resolve("locks.db"), LEASE);
    }
}
