package dev.holdfast.zookeeper;

import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;

/** Creates clients of Curator as a user does. */
final class Clients {

    static final Duration SESSION = Duration.ofSeconds(10);

    private Clients() {}

    static CuratorFramework started(String hosts) {
        return started(hosts, SESSION);
    }

    static CuratorFramework started(String hosts, Duration session) {
        CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(hosts)
                .sessionTimeoutMs(Math.toIntExact(session.toMillis()))
                .connectionTimeoutMs(5_000)
                .retryPolicy(new RetryOneTime(100))
                .ensembleTracker(false)
                .build();
        client.start();
        return client;
    }
}
