package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.zookeeper.node.NodeName;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;

/** The limit of a queue. The test fills it with plain requests, because the method of the TCK takes too long. */
class FullQueueTest extends WithServer {

    @Test
    void oneWaiterTooManyIsRefusedAndLeavesNoNode() throws Exception {
        LockStore store = open();
        Claim holder = alice.mutex(name);
        granted(store, holder);
        CuratorFramework client = curator();
        client.blockUntilConnected();
        ZooKeeper raw = client.getZookeeperClient().getZooKeeper();
        CountDownLatch made = new CountDownLatch(LockStore.MAX_QUEUE);
        for (int i = 0; i < LockStore.MAX_QUEUE; i++) {
            raw.create(
                    "/holdfast/" + name + "/" + NodeName.prefix(bob.mutex(name)),
                    new byte[0],
                    ZooDefs.Ids.OPEN_ACL_UNSAFE,
                    CreateMode.EPHEMERAL_SEQUENTIAL,
                    (code, path, context, child) -> made.countDown(),
                    null);
        }
        assertThat(made.await(60, TimeUnit.SECONDS)).isTrue();
        RecordingListener listener = enqueued(store, alice.mutex(name));
        StoreException refusal = listener.first(RecordingListener.Event.Failed.class)
                .orElseThrow(() -> new AssertionError(listener.toString()))
                .cause();
        assertThat(refusal.effect()).isEqualTo(Effect.NONE);
        assertThat(refusal.retryable()).isFalse();
        assertThat(refusal).hasMessageContaining(Integer.toString(LockStore.MAX_QUEUE));
        awaitUntil(() -> nodes(client, name).size() == LockStore.MAX_QUEUE + 1);
        // A renewal still works although the list of the full queue is long.
        assertThat(renewed(store, holder)).isInstanceOf(dev.holdfast.spi.Granted.class);
    }
}
