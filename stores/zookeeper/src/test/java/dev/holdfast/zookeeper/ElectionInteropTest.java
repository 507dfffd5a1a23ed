package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.election.Candidate;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import java.util.concurrent.Semaphore;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.junit.jupiter.api.Test;

/** Curator's {@code LeaderSelector} and our elections on the same path take part in one election. */
class ElectionInteropTest extends WithServer {

    private final String path = "/locks/" + name;

    @Test
    void selectorsOfCuratorAndOurCandidatesTakeTurnsAndSeeEachOther() throws Exception {
        Semaphore mayResign = new Semaphore(0);
        Holdfast locks = closing(Holdfast.over(closing(ZooKeeperLockStore.over(curator(), "root=/locks"))));
        try (Election ours =
                        locks.election(name.value(), ElectionOptions.defaults().withId("ours"));
                LeaderSelector theirs = new LeaderSelector(curator(), path, new LeaderSelectorListenerAdapter() {
                    @Override
                    public void takeLeadership(CuratorFramework client) throws Exception {
                        mayResign.acquire();
                    }
                })) {
            theirs.setId("theirs");
            theirs.autoRequeue();
            theirs.start();
            awaitUntil(theirs::hasLeadership);
            ours.start();
            awaitUntil(() -> ours.candidates().size() == 2);
            assertThat(ours.isLeader()).isFalse();
            Candidate leader = ours.leader().orElseThrow();
            assertThat(leader.id()).isEqualTo("theirs");
            assertThat(ours.candidates()).extracting(Candidate::id).containsExactly("theirs", "ours");
            assertThat(theirs.getLeader().getId()).isEqualTo("theirs");
            assertThat(theirs.getParticipants())
                    .hasSize(2)
                    .anyMatch(one -> !one.isLeader() && one.getId().lines().anyMatch("ours"::equals));

            mayResign.release();
            awaitUntil(ours::isLeader);
            long token = ours.term().orElseThrow().token();
            assertThat(token).isGreaterThan(leader.token());
            // Curator takes the whole text of the node for the id.
            assertThat(theirs.getLeader().getId().lines()).contains("ours");
            awaitUntil(() -> ours.candidates().size() == 2);
            assertThat(theirs.hasLeadership()).isFalse();

            ours.resign();
            awaitUntil(theirs::hasLeadership);
            assertThat(ours.isLeader()).isFalse();
            assertThat(ours.leader().orElseThrow().token()).isGreaterThan(token);
            // Who resigns leaves the queue, and joins it again a moment later. Theirs might come before ours otherwise.
            awaitUntil(() -> ours.candidates().size() == 2);
            mayResign.release();
            awaitUntil(ours::isLeader);
        }
    }
}
