package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Released;
import dev.holdfast.testkit.RecordingListener;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.Test;

/**
 * A lock that was free when its client last looked: the transaction that creates the next node also tells whether that is alone, so
 * nothing is listed.
 */
class FreeLockTest extends WithServer {

    private static final Map<String, Integer> COUNTED = Proxy.only("multi", 1);
    private static final Map<String, Integer> LISTED = Proxy.only("create2", 1, "getChildren", 1);

    private final Proxy proxy = proxy();
    private final LockStore store = open(proxy.hosts());
    private final CuratorFramework observer = curator();

    private String parent() {
        return "/holdfast/" + name;
    }

    /** From now on the client knows that the lock was free. */
    private void useOnce() {
        get(store.release(granted(alice.mutex(name))));
    }

    private Claim granted(Claim claim) {
        granted(store, claim);
        return claim;
    }

    private static Claim next(Claim claim) {
        ClaimId id = new ClaimId(claim.id().client(), claim.id().sequence() + 1_000);
        return new Claim(claim.name(), id, claim.permits(), claim.limit(), claim.lease(), claim.owner());
    }

    // Neither more requests nor more round trips than these.
    private RecordingListener.Event.Granted grantedWith(Map<String, Integer> requests, Claim claim) {
        RecordingListener listener = new RecordingListener();
        proxy.inOneRoundTrip(() -> CompletableFuture.completedStage(store.enqueue(claim, listener)), requests);
        RecordingListener.Event.Granted granted = awaitGrant(listener);
        assertThat(proxy.counts()).isEqualTo(requests);
        return granted;
    }

    @Test
    void acquireAndReleaseAreOneRequestEach() throws Exception {
        for (Claim claim : List.of(alice.mutex(name), alice.write(name), alice.read(name), alice.claim(name, 2, 5))) {
            get(store.release(granted(claim)));
            Claim again = next(claim);
            RecordingListener.Event.Granted granted = grantedWith(COUNTED, again);
            String node = only(nodes(observer, name));
            assertThat(granted.counter())
                    .isEqualTo(observer.checkExists()
                            .forPath(parent() + '/' + node)
                            .getCzxid());
            assertThat(proxy.inOneRoundTrip(() -> store.release(again), Proxy.only("delete", 1))
                            .wasOwner())
                    .isTrue();
        }
    }

    private static String only(List<String> nodes) {
        assertThat(nodes).hasSize(1);
        return nodes.get(0);
    }

    @Test
    void firstUseOfANameListsIt() {
        useOnce();
        LockName other = new LockName(name + "-other");
        grantedWith(Proxy.only("createContainer", 1, "create2", 1, "getChildren", 1), alice.mutex(other));
    }

    @Test
    void lockThatIsHeldAfterAllIsListedAndItsWaiterIsGrantedInTurn() {
        useOnce();
        LockStore other = open();
        Claim holder = bob.mutex(name);
        granted(other, holder);
        proxy.reset();
        Claim waiter = alice.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        awaitUntil(() -> proxy.counts().getOrDefault("getData", 0) == 2);
        assertThat(proxy.counts()).isEqualTo(Proxy.only("multi", 1, "getChildren", 1, "getData", 2));
        assertThat(nodes(observer, name)).hasSize(2);
        released(other, holder);
        awaitGrant(listener);
        busy(other, bob.mutex(name));
    }

    /** The list is sent at once where somebody was met, so that a waiter is in the queue after one round trip. */
    @Test
    void lockThatOthersUseIsListedAtOnceUntilItIsFreeAgain() {
        useOnce();
        LockStore other = open();
        Claim holder = bob.mutex(name);
        granted(other, holder);
        released(store, waits(alice.mutex(name)));
        proxy.reset();
        Claim second = waits(alice.mutex(name));
        assertThat(proxy.counts()).containsAllEntriesOf(LISTED).doesNotContainKey("multi");
        released(store, second);
        released(other, holder);
        Claim third = alice.mutex(name);
        grantedWith(LISTED, third);
        released(store, third);
        grantedWith(COUNTED, alice.mutex(name));
    }

    private Claim waits(Claim claim) {
        waiting(store, claim);
        return claim;
    }

    /** A claim that may not wait is promised its answer in one round trip, also when the lock is held. */
    @Test
    void attemptListsAtOnce() {
        useOnce();
        Attempt attempt = proxy.inOneRoundTrip(() -> store.tryAcquire(alice.mutex(name)), LISTED);
        assertThat(attempt).isInstanceOf(Granted.class);
    }

    @Test
    void readersShareALockThatWasFree() {
        useOnce();
        LockStore other = open();
        granted(other, bob.read(name));
        RecordingListener reader = new RecordingListener();
        store.enqueue(alice.read(name), reader);
        awaitGrant(reader);
        assertThat(nodes(observer, name)).hasSize(2);
    }

    @Test
    void dataOfTheParentNodeIsKept() throws Exception {
        byte[] data = "theirs".getBytes(StandardCharsets.UTF_8);
        observer.create().creatingParentsIfNeeded().forPath(parent(), data);
        useOnce();
        Claim claim = alice.mutex(name);
        grantedWith(LISTED, claim);
        released(store, claim);
        grantedWith(LISTED, alice.mutex(name));
        assertThat(observer.getData().forPath(parent())).isEqualTo(data);
    }

    @Test
    void clientWithoutTheRightToWriteListsInsteadBelowThatNode() throws Exception {
        LockName other = new LockName(name + "-other");
        get(store.release(granted(alice.mutex(other))));
        useOnce();
        allowAllBut(Perms.WRITE, parent());
        Claim claim = alice.mutex(name);
        assertThat(requestsOfAGrant(claim)).isEqualTo(Proxy.only("multi", 1, "create2", 1, "getChildren", 1));
        released(store, claim);
        grantedWith(LISTED, alice.mutex(name));
        grantedWith(COUNTED, alice.mutex(other));
    }

    /** Somebody else has made the parent node of the lock. */
    @Test
    void clientWithoutTheRightToCreateParentNodes() throws Exception {
        String root = "/root-" + name;
        observer.create().creatingParentsIfNeeded().forPath(root + '/' + name, new byte[0]);
        allowAllBut(Perms.CREATE, root);
        LockStore guest = openUrl("zookeeper://" + proxy.hosts() + root + "?sessionTimeout=10s");
        Claim first = alice.mutex(name);
        granted(guest, first);
        released(guest, first);
        proxy.reset();
        RecordingListener listener = new RecordingListener();
        guest.enqueue(alice.mutex(name), listener);
        awaitGrant(listener);
        assertThat(proxy.counts()).isEqualTo(COUNTED);
    }

    private void allowAllBut(int right, String path) throws Exception {
        observer.setACL()
                .withACL(List.of(new ACL(Perms.ALL & ~right, Ids.ANYONE_ID_UNSAFE)))
                .forPath(path);
    }

    private Map<String, Integer> requestsOfAGrant(Claim claim) {
        proxy.reset();
        RecordingListener listener = new RecordingListener();
        store.enqueue(claim, listener);
        awaitGrant(listener);
        return proxy.counts();
    }

    @Test
    void claimThatIsReleasedWhileItIsCountedLeavesNothing() {
        useOnce();
        proxy.reset();
        proxy.holdReplies();
        Claim claim = alice.mutex(name);
        RecordingListener listener = new RecordingListener();
        store.enqueue(claim, listener);
        CompletionStage<Released> released = store.release(claim);
        awaitUntil(() -> proxy.counts().getOrDefault("getChildren", 0) == 1);
        proxy.letReplies();
        get(released);
        awaitUntil(() -> nodes(observer, name).isEmpty());
        assertThat(listener.first(RecordingListener.Event.Granted.class)).isEmpty();
        granted(open(), bob.mutex(name));
    }

    @Test
    void claimThatIsReleasedBeforeItIsListedLeavesNothing() {
        useOnce();
        granted(open(), bob.mutex(name));
        Claim claim = alice.mutex(name);
        RecordingListener listener = enqueuedUntilTheListIsSent(claim);
        CompletionStage<Released> released = store.release(claim);
        letReplies();
        get(released);
        awaitUntil(() -> nodes(observer, name).size() == 1);
        assertThat(listener.first(RecordingListener.Event.Granted.class)).isEmpty();
    }

    @Test
    void claimThatIsRepeatedBeforeItIsListedHasOneNodeAndIsGranted() {
        useOnce();
        LockStore other = open();
        Claim holder = bob.mutex(name);
        granted(other, holder);
        Claim claim = alice.mutex(name);
        enqueuedUntilTheListIsSent(claim);
        RecordingListener again = new RecordingListener();
        store.enqueue(claim.again(), again);
        letReplies();
        awaitUntil(again::wasNotified);
        released(other, holder);
        awaitGrant(again);
        assertThat(nodes(observer, name)).hasSize(1);
    }

    private RecordingListener enqueuedUntilTheListIsSent(Claim claim) {
        proxy.reset();
        proxy.onRequest(kind -> {
            if (kind.equals("getChildren")) {
                proxy.holdReplies();
            }
            return Proxy.Action.PASS;
        });
        RecordingListener listener = new RecordingListener();
        store.enqueue(claim, listener);
        awaitUntil(() -> proxy.counts().getOrDefault("getChildren", 0) == 1);
        return listener;
    }

    private void letReplies() {
        proxy.onRequest(kind -> Proxy.Action.PASS);
        proxy.letReplies();
    }

    @Test
    void parentNodeThatTheServerHasDeletedIsCreatedAgain() throws Exception {
        useOnce();
        observer.delete().forPath(parent());
        RecordingListener listener = new RecordingListener();
        Claim claim = alice.mutex(name);
        store.enqueue(claim, listener);
        awaitGrant(listener);
        assertThat(nodes(observer, name)).hasSize(1);
        assertThat(released(store, claim)).isTrue();
    }

    @Test
    void locksBelowAChrootAndANamespace() throws Exception {
        String chroot = "/tenant-" + name;
        observer.create().forPath(chroot);
        CuratorFramework client = closing(Clients.started(proxy.hosts() + chroot));
        assertCountedBelow(chroot + "/holdfast", ZooKeeperLockStore.over(client));
        assertCountedBelow(chroot, ZooKeeperLockStore.over(client, "root=/"));
        assertCountedBelow(chroot + "/space/a/b", ZooKeeperLockStore.over(client.usingNamespace("space"), "root=/a/b"));
    }

    private void assertCountedBelow(String root, LockStore opened) throws Exception {
        LockStore below = closing(opened);
        Claim first = alice.mutex(name);
        granted(below, first);
        released(below, first);
        proxy.reset();
        Claim claim = alice.mutex(name);
        RecordingListener listener = new RecordingListener();
        below.enqueue(claim, listener);
        awaitGrant(listener);
        assertThat(proxy.counts()).isEqualTo(COUNTED);
        assertThat(observer.getChildren().forPath(root + '/' + name)).hasSize(1);
        assertThat(released(below, claim)).isTrue();
        assertThat(observer.getChildren().forPath(root + '/' + name)).isEmpty();
        Claim a = alice.mutex(new LockName(name + "-a"));
        Claim b = alice.mutex(new LockName(name + "-b"));
        assertThat(get(below.tryAcquireAll(List.of(a, b)))).hasSize(2).allMatch(Granted.class::isInstance);
        assertThat(observer.getChildren().forPath(root + '/' + name + "-a")).hasSize(1);
        assertThat(released(below, a)).isTrue();
        assertThat(released(below, b)).isTrue();
        assertThat(observer.getChildren().forPath(root + '/' + name + "-a")).isEmpty();
    }
}
