package dev.holdfast.etcd;

import dev.holdfast.testkit.HistoryChecker;
import dev.holdfast.testkit.process.ContendingProcesses;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Three servers: their grants stay correct when the leader or a follower is killed, frozen or comes back. */
class ClusterTest {

    private static final int CLIENTS = 8;

    private static List<EtcdServer> members = List.of();

    @BeforeAll
    static void start() {
        members = EtcdServer.startCluster(3);
    }

    @AfterAll
    static void stop() {
        members.forEach(EtcdServer::close);
    }

    @Test
    void eightProcessesContendWhileServersAreKilledFrozenAndStarted() {
        String hosts = members.stream().map(EtcdServer::address).collect(Collectors.joining(","));
        String url = "etcd://" + hosts + "?session=12s&timeout=6s";
        String name = "cluster-" + UUID.randomUUID();
        try (ContendingProcesses clients = ContendingProcesses.start(CLIENTS, url, name)) {
            EtcdServer leader = leader();
            leader.kill();
            clients.awaitProgress("the leader was killed");
            leader.startAgain();
            EtcdServer follower = follower();
            follower.signal("STOP");
            clients.awaitProgress("a follower froze");
            follower.signal("CONT");
            follower.awaitHealth();
            EtcdServer second = leader();
            second.signal("STOP");
            clients.awaitProgress("the leader froze");
            second.signal("CONT");
            second.awaitHealth();
            EtcdServer third = follower();
            third.kill();
            clients.awaitProgress("a follower was killed");
            third.startAgain();
            clients.awaitProgress("all servers were back");
            HistoryChecker history = clients.stop();
            history.check();
            System.out.println(history.size() + " holds of " + CLIENTS
                    + " processes: no two at once, and each token larger than the one before");
        }
    }

    private static EtcdServer follower() {
        EtcdServer leader = leader();
        return members.stream().filter(member -> member != leader).findFirst().orElseThrow();
    }

    private static EtcdServer leader() {
        return EtcdServer.leader(members);
    }
}
