package dev.holdfast.jdbc;

import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ClusterNetwork;
import dev.holdfast.testkit.process.ServerProcess;
import java.util.concurrent.CompletableFuture;

/**
 * A MariaDB, and a read-only one that follows it by GTID. Their user has rights for their one database only. Used by one thread at a
 * time.
 */
final class MariaDbPair implements AutoCloseable {

    private static final int MOST_SECONDS = 60;

    /** The sessions whose commit waits for the replica. Of those that wait after the sync of the log it is one at a time. */
    private static final String WAITING =
            "SELECT id FROM information_schema.processlist WHERE state = 'Waiting for semi-sync ACK from slave'";

    /** What the primary waits for before it answers a commit. */
    enum Replication {
        /** Nothing: what it has answered may be missing at the replica. */
        ASYNCHRONOUS,
        /** The replica has what it answers, and nobody has seen it before. */
        SEMI_SYNCHRONOUS
    }

    private final Replication replication;
    private final String database;
    private MariaDbServer primary;
    private MariaDbServer replica;
    /** No server that is made anew has the number of an earlier one: it would leave out what it takes for its own. */
    private int lastServerId;

    private MariaDbPair(MariaDbServer primary, MariaDbServer replica, Replication replication) {
        this.primary = primary;
        this.replica = replica;
        this.replication = replication;
        this.lastServerId = 2;
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
        CompletableFuture<MariaDbServer> replica = CompletableFuture.supplyAsync(() -> start(starter, 1));
        CompletableFuture<MariaDbServer> primary = CompletableFuture.supplyAsync(() -> start(starter, 0));
        try {
            MariaDbPair pair = new MariaDbPair(primary.join(), replica.join(), replication);
            pair.primary.run("", "CREATE USER app@'%'", "GRANT ALL ON " + pair.database + ".* TO app@'%'");
            pair.replicate();
            return pair;
        } catch (RuntimeException | Error failure) {
            // One that is still starting is closed when it has started.
            primary.thenAccept(MariaDbServer::close);
            replica.thenAccept(MariaDbServer::close);
            throw failure;
        }
    }

    private static MariaDbServer start(Starter starter, int place) {
        return starter.start(
                place,
                "--server-id=" + (place + 1),
                "--log-bin=log",
                "--gtid-strict-mode",
                "--log-slave-updates",
                "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
                "--rpl-semi-sync-master-timeout=600000");
    }

    private void replicate() {
        replica.run(
                "",
                "SET GLOBAL read_only = ON",
                "SET GLOBAL rpl_semi_sync_slave_enabled = ON",
                "CHANGE MASTER TO MASTER_HOST='" + primary.host() + "', MASTER_PORT=" + primary.port()
                        + ", MASTER_USER='root', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1",
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

    /** From now on others can read a commit before the replica has it. */
    void waitAfterCommit() {
        primary.run("", "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_COMMIT");
    }

    /** From now on the replica receives nothing. */
    void cutReplication() {
        replica.run("", "STOP SLAVE IO_THREAD");
    }

    /** The replica receives what it has not received, and what is new. */
    void goOnReplicating() {
        replica.run("", "START SLAVE IO_THREAD");
    }

    /** From now on the replica receives all, and applies nothing. */
    void fallBehind() {
        replica.run("", "STOP SLAVE SQL_THREAD");
    }

    /** How many sessions wait for the replica; those behind the first one, before their commit, are not counted. */
    int waiting() {
        return primary.texts(WAITING, "id").size();
    }

    /** How many commits have waited for the replica until it had them. */
    int acknowledged() {
        return Integer.parseInt(status("Rpl_semi_sync_master_yes_tx"));
    }

    /**
     * Ends the waits for the replica: the commits are done at the primary alone.
     *
     * @param what is killed: the {@code QUERY} or its {@code CONNECTION}
     */
    void killWaiting(String what) {
        for (String id : primary.texts(WAITING, "id")) {
            // It may have ended by now.
            primary.run(
                    "",
                    "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; KILL " + what + " " + id + "; END");
        }
    }

    /** What was waiting for the replica is committed after that, and commits wait as before. */
    void crashPrimary() {
        String serverId = primary.text("SELECT @@server_id AS i", "i");
        primary.kill();
        primary.startAgain("--server-id=" + serverId, "--rpl-semi-sync-master-enabled");
    }

    /** Crashes the primary, and makes the replica the primary when it has applied what it has received. */
    void failOver() {
        primary.kill();
        promote();
    }

    /** Has two that take themselves for the primary, if the one that is has not ended. */
    void promote() {
        // First: a start while both threads are stopped deletes all that was received.
        replica.run("", "START SLAVE SQL_THREAD");
        cutReplication();
        awaitApplied(replica.text("SHOW SLAVE STATUS", "Gtid_IO_Pos"));
        replica.run("", "STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF");
    }

    /** After a promotion: ends the one that was the primary, so that it may {@link #follow} the one that is. */
    void endOldPrimary() {
        MariaDbServer old = primary;
        old.kill();
        primary = replica;
        replica = old;
    }

    /** Makes one that was ended, and may have what the primary lacks, a replica that begins without data. */
    void follow() {
        lastServerId++;
        replica.startEmpty("--server-id=" + lastServerId);
        replicate();
    }

    @Override
    public void close() {
        replica.close();
        primary.close();
    }
}
