package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.NodeName;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.junit.jupiter.api.Test;

/** Known defects of other ZooKeeper libraries. Each test shows that this store does not have the defect. */
class OtherLibrariesDefectsTest extends WithServer {

    private final CuratorFramework observer = curator();
    private final LockStore store = open();
    private final LockStore other = open();

    /** kazoo#649: a reader waited for a writer with a higher sequence, and that writer waited for the reader. */
    @Test
    void kazoo649ReaderDoesNotWaitForALaterWriter() {
        Claim writer = alice.write(name);
        granted(store, writer);
        RecordingListener reader = waiting(other, bob.read(name));
        RecordingListener later = waiting(store, alice.write(name));
        released(store, writer);
        awaitGrant(reader);
        assertThat(later.outcome()).isEmpty();
    }

    /** CURATOR-604: a node of an expired session, found by its id, was taken for a grant, so two clients held. */
    @Test
    void curator604NodeOfAnOldSessionIsNoGrant() throws Exception {
        CuratorFramework client = curator();
        LockStore ours = closing(ZooKeeperLockStore.over(client));
        Claim claim = alice.mutex(name);
        Claim before = alice.mutex(name);
        granted(ours, before);
        released(ours, before);
        // Creates a node of the same claim in another session, as if it was left from an expired session.
        String path = "/holdfast/" + name + "/" + NodeName.prefix(claim);
        observer.create().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath(path);
        long old = observer.getZookeeperClient().getZooKeeper().getSessionId();
        get(ours.tryAcquire(claim.again()));
        for (String node : nodes(observer, name)) {
            assertThat(observer.checkExists()
                            .forPath("/holdfast/" + name + "/" + node)
                            .getEphemeralOwner())
                    .isNotEqualTo(old);
        }
    }

    /** CURATOR-79, zk-ruby#49: an interrupted or timed-out wait left its node in the queue. */
    @Test
    void curator79InterruptedWaitLeavesNoNode() throws Exception {
        Claim holder = bob.mutex(name);
        granted(other, holder);
        try (Holdfast locks = Holdfast.over(open())) {
            DistributedLock lock = locks.lock(name.value());
            Thread waiter = new Thread(() -> {
                try {
                    lock.lockInterruptibly();
                } catch (InterruptedException expected) {
                    return;
                }
            });
            waiter.start();
            awaitUntil(() -> nodes(observer, name).size() == 2);
            waiter.interrupt();
            waiter.join();
            awaitUntil(() -> nodes(observer, name).size() == 1);
            assertThat(lock.tryLock(200, TimeUnit.MILLISECONDS)).isFalse();
            awaitUntil(() -> nodes(observer, name).size() == 1);
        }
    }

    /** CURATOR-43: a lock whose path is below that of another lock blocked the other lock. */
    @Test
    void curator43ChildNodeDoesNotBlockItsParent() throws Exception {
        granted(store, alice.mutex(name));
        assertThat(released(store, holders(store, name).get(0))).isTrue();
        observer.create().forPath("/holdfast/" + name + "/0");
        observer.create().forPath("/holdfast/" + name + "/zz");
        granted(store, alice.mutex(name));
        busy(other, bob.mutex(name));
        observer.delete().forPath("/holdfast/" + name + "/0");
        observer.delete().forPath("/holdfast/" + name + "/zz");
        LockName below = new LockName(name + "/below");
        granted(store, alice.mutex(below));
        assertThat(get(store.list(name.value(), 10))).containsExactly(name, below);
    }

    /** CURATOR-716: many threads of one JVM on one lock cost several round trips for each critical section. */
    @Test
    void curator716ThreadsOfOneJvmCostFewRequests() throws Exception {
        Proxy proxy = proxy();
        try (Holdfast locks = Holdfast.over(open(proxy.hosts()))) {
            DistributedLock lock = locks.lock(name.value());
            ExecutorService threads = Executors.newFixedThreadPool(16);
            List<Future<?>> running = new ArrayList<>();
            proxy.reset();
            int[] unguarded = {0};
            for (int i = 0; i < 16; i++) {
                running.add(threads.submit(() -> {
                    for (int round = 0; round < 500; round++) {
                        lock.lock();
                        unguarded[0]++;
                        lock.unlock();
                    }
                }));
            }
            for (Future<?> one : running) {
                one.get(60, TimeUnit.SECONDS);
            }
            threads.shutdown();
            assertThat(unguarded[0]).isEqualTo(8_000);
            assertThat(proxy.total()).isLessThan(8_000);
        }
    }

    /** CURATOR-206, CURATOR-465: a holder was not notified that its node was deleted, and went on as the holder. */
    @Test
    void curator465HolderIsNotifiedWhenItsNodeIsDeleted() throws Exception {
        try (Holdfast locks = Holdfast.over(open())) {
            CompletableFuture<Object> lost = new CompletableFuture<>();
            var lease = locks.lock(name.value()).acquire();
            lease.onLost(lost::complete);
            observer.delete()
                    .forPath("/holdfast/" + name + "/" + nodes(observer, name).get(0));
            assertThat(lost.get(20, TimeUnit.SECONDS)).hasToString("BROKEN");
            assertThat(lease.isValid()).isFalse();
        }
    }

    /** CURATOR-308: the server deleted a parent node just when a client wanted to queue below it. */
    @Test
    void curator308DeletedParentNodeIsCreatedAgain() throws Exception {
        Claim claim = alice.mutex(name);
        long first = granted(store, claim).counter();
        released(store, claim);
        observer.delete().forPath("/holdfast/" + name);
        long second = granted(store, alice.mutex(name)).counter();
        assertThat(second)
                .as("the token grows although the sequence starts again")
                .isGreaterThan(first);
    }

    /** CURATOR-688: the server's sequence overflows from the largest int to the smallest; the order must remain. */
    @Test
    void curator688QueueKeepsItsOrderWhenTheSequenceOverflows() {
        AdmissionQueue queue = AdmissionQueue.of(
                List.of("_c_b.1-lock--2147483648", "_c_a.1-lock-2147483647", "_c_c.1-lock--2147483647"));
        assertThat(queue.entries())
                .extracting(NodeName::sequence)
                .containsExactly(Integer.MAX_VALUE, Integer.MIN_VALUE, Integer.MIN_VALUE + 1);
        assertThat(queue.admitted()).isEqualTo(1);
    }

    /** A waiter for a semaphore watched only the node before it, and missed the release of the oldest holder. */
    @Test
    void oldestHolderOfASemaphoreLeavingFirstWakesTheFirstWaiter() {
        List<Claim> holders = List.of(alice.claim(name, 1, 3), alice.claim(name, 1, 3), alice.claim(name, 1, 3));
        holders.forEach(claim -> granted(store, claim));
        RecordingListener first = waiting(other, bob.claim(name, 1, 3));
        RecordingListener second = waiting(store, alice.claim(name, 1, 3));
        RecordingListener third = waiting(other, bob.claim(name, 1, 3));
        pause(50);
        released(store, holders.get(0));
        awaitGrant(first);
        released(store, holders.get(1));
        awaitGrant(second);
        assertThat(third.outcome()).isEmpty();
        released(store, holders.get(2));
        awaitGrant(third);
    }

    /** menagerie: a waiter on a condition released the lock before it could be signalled, and missed the signal. */
    @Test
    void menagerieSignalRightAfterTheWaiterQueuedIsDelivered() {
        for (int round = 0; round < 20; round++) {
            Claim awaiting = alice.waitSet(name);
            RecordingListener listener = waiting(store, awaiting);
            assertThat(released(other, awaiting.again())).isTrue();
            awaitUntil(() -> listener.outcome().isPresent());
            assertThat(listener.outcome()).contains(new RecordingListener.Event.Ended(Renewed.Reason.RELEASED));
        }
    }

    /** spring-integration#1863: tryLock ignored its time limit. */
    @Test
    void springIntegration1863TimeOfATryLockIsHonoured() throws Exception {
        granted(other, bob.mutex(name));
        try (Holdfast locks = Holdfast.over(open())) {
            long start = System.nanoTime();
            assertThat(locks.lock(name.value()).tryLock(300, TimeUnit.MILLISECONDS))
                    .isFalse();
            // Without the time limit it would wait for much longer than a test may take.
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(295));
        }
    }

    /** dynamolock#280: the lock was lost when a renewal succeeded but its reply was lost. */
    @Test
    void dynamolock280RenewalWhoseAnswerIsLostKeepsTheLock() {
        Proxy proxy = proxy();
        LockStore ours = open(proxy.hosts());
        Claim claim = alice.mutex(name);
        long counter = granted(ours, claim).counter();
        AtomicInteger multis = new AtomicInteger();
        proxy.onRequest(kind ->
                kind.equals("multi") && multis.incrementAndGet() == 1 ? Proxy.Action.CUT_AFTER : Proxy.Action.PASS);
        assertThat(failure(ours.renew(List.of(claim))).retryable()).isTrue();
        awaitUntil(() -> !get(ours.renew(List.of(claim)).exceptionally(notYet -> List.of()))
                .isEmpty());
        assertThat(renewed(ours, claim))
                .isInstanceOfSatisfying(
                        Granted.class, held -> assertThat(held.counter()).isEqualTo(counter));
        busy(other, bob.mutex(name));
    }

    /** A node that is created after its claim was released is found and deleted. */
    @Test
    void nodeCreatedAfterItsReleaseIsDeleted() throws Exception {
        Proxy proxy = proxy();
        CuratorFramework client = closing(Clients.started(proxy.hosts()));
        LockStore ours = closing(ZooKeeperLockStore.over(client));
        Claim claim = alice.mutex(name);
        Claim holder = bob.mutex(name("other"));
        granted(ours, holder);
        // The acquire is on its way when the claim is released: the store cannot know whether it arrived.
        proxy.holdReplies();
        var attempt = ours.tryAcquire(claim);
        var release = ours.release(claim.again());
        proxy.letReplies();
        get(release);
        get(attempt);
        client.create()
                .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
                .forPath("/holdfast/" + name + "/" + NodeName.prefix(claim));
        awaitUntil(() -> {
            assertThat(renewed(ours, holder)).isInstanceOf(Granted.class);
            return nodes(observer, name).isEmpty();
        });
        assertThat(get(other.tryAcquire(bob.mutex(name)))).isInstanceOf(Granted.class);
    }

    private LockName name(String ending) {
        return new LockName(name + "-" + ending);
    }
}
