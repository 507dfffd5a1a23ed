package dev.holdfast.benchmarks.election;

import dev.holdfast.Holdfast;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** The elections that are compared. */
enum Recipe {
    HOLDFAST("Holdfast `Election`") {
        @Override
        Runnable stand(String address, Runnable elected) {
            Holdfast locks =
                    Holdfast.connect("zookeeper://" + address + "?sessionTimeout=" + FailOver.SESSION_MILLIS + "ms");
            Election election = locks.election(
                    "leader", ElectionOptions.defaults().withLease(Duration.ofMillis(FailOver.SESSION_MILLIS)));
            election.onElected(term -> elected.run());
            election.start();
            return election::resign;
        }
    },

    /** One who resigns closes his latch, and stands with another one. */
    LATCH("Curator `LeaderLatch`") {
        @Override
        Runnable stand(String address, Runnable elected) throws Exception {
            CuratorFramework client = client(address);
            LeaderLatch[] latch = {latch(client, elected)};
            return () -> {
                try {
                    latch[0].close();
                    latch[0] = latch(client, elected);
                } catch (IOException failure) {
                    throw new UncheckedIOException(failure);
                } catch (Exception failure) {
                    throw new IllegalStateException(failure);
                }
            };
        }
    },

    SELECTOR("Curator `LeaderSelector`") {
        @Override
        Runnable stand(String address, Runnable elected) throws Exception {
            Semaphore mayReturn = new Semaphore(0);
            LeaderSelector selector =
                    new LeaderSelector(client(address), "/selector", new LeaderSelectorListenerAdapter() {
                        @Override
                        public void takeLeadership(CuratorFramework client) throws InterruptedException {
                            elected.run();
                            mayReturn.acquire();
                        }
                    });
            selector.autoRequeue();
            selector.start();
            return mayReturn::release;
        }
    };

    private final String title;

    Recipe(String title) {
        this.title = title;
    }

    String title() {
        return title;
    }

    /**
     * Stands for election.
     *
     * @param elected is called each time when it leads
     * @return lets it resign, and stand again
     */
    abstract Runnable stand(String address, Runnable elected) throws Exception;

    private static LeaderLatch latch(CuratorFramework client, Runnable elected) throws Exception {
        LeaderLatch latch = new LeaderLatch(client, "/latch");
        latch.addListener(new LeaderLatchListener() {
            @Override
            public void isLeader() {
                elected.run();
            }

            @Override
            public void notLeader() {
                // The next one reports.
            }
        });
        latch.start();
        return latch;
    }

    private static CuratorFramework client(String address) {
        CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(address)
                .sessionTimeoutMs(FailOver.SESSION_MILLIS)
                .retryPolicy(new ExponentialBackoffRetry(1000, 3))
                .build();
        client.start();
        return client;
    }
}
