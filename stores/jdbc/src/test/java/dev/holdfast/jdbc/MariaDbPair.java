package dev.holdfast.jdbc;

import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ClusterNetwork;
import dev.holdfast.testkit.process.ServerProcess;
import java.util.concurrent.CompletableFuture;

/** A MariaDB, and a read-only one that follows it by GTID. Their user has rights for their one database only. */
final class MariaDbPair implements AutoCloseable {

    private static final int MOST_SECONDS = 60;

    /** What the primary waits for before it answers a commit. */
    enum Replication {
        /** Nothing: what it has answered may be missing at the replica. */
        ASYNCHRONOUS,
        /** The replica has what it answers, and nobody has seen it before. */
        SEMI_SYNCHRONOUS
    }

    private final MariaDbServer primary;
    private final MariaDbServer replica;
    private final String database;

    private MariaDbPair(MariaDbServer primary, MariaDbServer replica) {
        this.primary = primary;
        this.replica = replica;
        this.database = primary.newDatabase();
    }

    /** Starts a server with settings. */
    private interface Starter {
        MariaDbServer start(int place, String... settings);
    }

    static MariaDbPair start(Replication replication) {
        return start(
                replication,
                (place, settings) -> MariaDbServer.start(new ServerProcess("mariadb", MariaDbServer.USER), settings));
    }

    /** The same of one whose servers are at the first places of a network, the primary before the replica. */
    static MariaDbPair startIn(ClusterNetwork network, Replication replication) {
        return start(replication, (place, settings) -> MariaDbServer.startIn(network, place, settings));
    }

    private static MariaDbPair start(Replication replication, Starter starter) {
        CompletableFuture<MariaDbServer> replica = CompletableFuture.supplyAsync(
                () -> start(starter, 1, "--read-only", "--log-slave-updates", "--rpl-semi-sync-slave-enabled"));
        CompletableFuture<MariaDbServer> primary = CompletableFuture.supplyAsync(() -> start(
                starter, 0, "--rpl-semi-sync-master-wait-point=AFTER_SYNC", "--rpl-semi-sync-master-timeout=600000"));
        try {
            MariaDbPair pair = new MariaDbPair(primary.join(), replica.join());
            pair.replicate(replication);
            return pair;
        } catch (RuntimeException | Error failure) {
            // One that is still starting is closed when it has started.
            primary.thenAccept(MariaDbServer::close);
            replica.thenAccept(MariaDbServer::close);
            throw failure;
        }
    }

    private static MariaDbServer start(Starter starter, int place, String... settings) {
        String[] all = new String[settings.length + 3];
        all[0] = "--server-id=" + (place + 1);
        all[1] = "--log-bin=log";
        all[2] = "--gtid-strict-mode";
        System.arraycopy(settings, 0, all, 3, settings.length);
        return starter.start(place, all);
    }

    private void replicate(Replication replication) {
        primary.run("", "CREATE USER app@'%'", "GRANT ALL ON " + database + ".* TO app@'%'");
        replica.run(
                "",
                "CHANGE MASTER TO MASTER_HOST='" + primary.host() + "', MASTER_PORT=" + primary.port()
                        + ", MASTER_USER='root', MASTER_USE_GTID=slave_pos",
                "START SLAVE");
        if (replication == Replication.SEMI_SYNCHRONOUS) {
            // Before the replica is there, nothing would be answered.
            StoreTest.awaitUntil(() -> status("Rpl_semi_sync_master_clients").equals("1"));
            primary.run("", "SET GLOBAL rpl_semi_sync_master_enabled = ON");
            StoreTest.awaitUntil(() -> status("Rpl_semi_sync_master_status").equals("ON"));
        }
        awaitApplied();
    }

    private String status(String variable) {
        return primary.text("SHOW GLOBAL STATUS LIKE '" + variable + "'", "Value");
    }

    MariaDbServer primary() {
        return primary;
    }

    /** The URL of both servers. The replica is first, so that the primary has to be found. */
    String url() {
        return url("jdbc:mariadb:");
    }

    /** The same in a mode of the driver's, in which it replaces broken connections itself. */
    String sequentialUrl() {
        return url("jdbc:mariadb:sequential:");
    }

    private String url(String scheme) {
        return scheme + "//" + replica.address() + "," + primary.address() + "/" + database + "?user=app";
    }

    String urlOfReplica() {
        return replica.mariaUrl(database).replace("user=root", "user=app");
    }

    /** Waits until the replica has applied all that the primary has answered. */
    void awaitApplied() {
        awaitApplied(primary.text("SELECT @@GLOBAL.gtid_binlog_pos AS p", "p"));
    }

    private void awaitApplied(String position) {
        String answer = replica.text("SELECT MASTER_GTID_WAIT('" + position + "', " + MOST_SECONDS + ") AS a", "a");
        if (!answer.equals("0")) {
            throw new AssertionError("The replica is behind " + position);
        }
    }

    /** From now on the replica receives nothing. */
    void cutReplication() {
        replica.run("", "STOP SLAVE IO_THREAD");
    }

    /** From now on the replica receives all, and applies nothing. */
    void fallBehind() {
        replica.run("", "STOP SLAVE SQL_THREAD");
    }

    /** Crashes the primary, and makes the replica the primary when it has applied what it has received. */
    void failOver() {
        primary.kill();
        // First: a start while both threads are stopped deletes all that was received.
        replica.run("", "START SLAVE SQL_THREAD");
        cutReplication();
        awaitApplied(replica.text("SHOW SLAVE STATUS", "Gtid_IO_Pos"));
        replica.run("", "STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF");
    }

    @Override
    public void close() {
        replica.close();
        primary.close();
    }
}
