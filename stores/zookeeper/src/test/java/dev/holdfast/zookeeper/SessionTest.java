package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.process.FaultProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.Test;

/** What happens to claims when a session ends or does not end yet, and when a lease is shorter than the session. */
class SessionTest extends WithServer {

    private final EndableSession session = closing(new EndableSession(Clients.SESSION));
    private final CuratorFramework client = session.client();
    private final LockStore store = closing(ZooKeeperLockStore.over(client));
    private final LockStore other = open();

    @Test
    void grantLastsAtMostTwoFifthsOfTheSession() {
        Duration lease = granted(store, alice.mutex(name)).lease();
        assertThat(lease).isEqualTo(Duration.ofSeconds(4));
        assertThat(store.traits().ticketTtl()).isEqualTo(Duration.ofSeconds(4));
    }

    /** A program that starts on a busy machine may lose its first connection before it has asked anything. */
    @Test
    void openBearsWithAConnectionThatBreaksAtItsFirstRequest() {
        Proxy proxy = proxy();
        AtomicInteger lists = new AtomicInteger();
        proxy.onRequest(kind -> kind.equals("getChildren") && lists.incrementAndGet() == 1
                ? Proxy.Action.CUT_BEFORE
                : Proxy.Action.PASS);
        granted(open(proxy.hosts()), alice.mutex(name));
        assertThat(lists.get()).isGreaterThan(1);
    }

    /** A renewal checks the root, which nothing else needs to read. */
    @Test
    void rootThatMayNotBeReadIsNoHindrance() throws Exception {
        int perms = ZooDefs.Perms.CREATE | ZooDefs.Perms.DELETE;
        client.create()
                .withACL(List.of(new ACL(perms, ZooDefs.Ids.ANYONE_ID_UNSAFE)))
                .forPath("/unreadable-" + name);
        LockStore below = closing(ZooKeeperLockStore.over(client, "root=/unreadable-" + name));
        Claim claim = alice.mutex(name);
        granted(below, claim);
        assertThat(renewed(below, claim)).isInstanceOf(Granted.class);
        assertThat(released(below, claim.again())).isTrue();
    }

    @Test
    void shortLeaseIsEndedByTheClient() {
        Claim claim = alice.mutex(name).withLease(Duration.ofMillis(300));
        Granted grant = granted(store, claim);
        assertThat(grant.lease()).isLessThanOrEqualTo(claim.lease());
        // The client keeps its session meanwhile, so nobody else ends the lease.
        awaitGrant(enqueued(other, bob.mutex(name)));
        assertThat(renewed(store, claim)).isEqualTo(new Renewed.Gone(Renewed.Reason.TAKEN));
    }

    @Test
    void renewedShortLeaseDoesNotExpire() {
        ManualClock clock = new ManualClock();
        LockStore held = closing(new ZooKeeperLockStoreProvider().open("zookeeper://" + server().hosts(), clock));
        Claim claim = alice.mutex(name).withLease(Duration.ofMillis(600));
        granted(held, claim);
        for (int i = 0; i < 6; i++) {
            clock.advance(Duration.ofMillis(200));
            assertThat(renewed(held, claim)).isInstanceOf(Granted.class);
        }
        busy(other, bob.mutex(name));
        clock.advance(claim.lease());
        awaitUntil(() -> get(other.tryAcquire(bob.mutex(name))) instanceof Granted);
        assertThat(renewed(held, claim)).isInstanceOf(Renewed.Gone.class);
    }

    @Test
    void endOfTheSessionEndsHoldersAndWaiters() throws Exception {
        Claim held = alice.mutex(name);
        granted(store, held);
        Claim elsewhere = bob.claim(name("busy"), 1, 1);
        granted(other, elsewhere);
        Claim waiter = alice.mutex(elsewhere.name());
        RecordingListener listener = waiting(store, waiter);
        session.end();
        awaitUntil(() -> listener.outcome().isPresent());
        assertThat(listener.outcome()).contains(new RecordingListener.Event.Ended(Renewed.Reason.EXPIRED));
        granted(other, bob.mutex(name));
        awaitUntil(() -> answered(held));
        assertThat(renewed(store, held)).isEqualTo(new Renewed.Gone(Renewed.Reason.TAKEN));
        assertThat(renewed(store, waiter)).isInstanceOf(Renewed.Gone.class);
        // The store continues to work with its next session.
        awaitGrant(enqueued(store, alice.mutex(name("next"))));
    }

    @Test
    void holderIsNotifiedOfTheEndOfItsSessionAndTheWaiterOfTheSameClientQueuesAgain() throws Exception {
        // The lease is long beside the time that the client takes to connect again, and so to learn of the end.
        EndableSession lasting = closing(new EndableSession(Duration.ofSeconds(20)));
        try (Holdfast locks = Holdfast.over(ZooKeeperLockStore.over(lasting.client()))) {
            CompletableFuture<LossReason> lost = new CompletableFuture<>();
            Lease lease = locks.lock(name.value()).acquire();
            lease.onLost(lost::complete);
            Claim before = bob.mutex(name("queue"));
            granted(other, before);
            CompletableFuture<Lease> waiter =
                    locks.lock(before.name().value()).acquireAsync().toCompletableFuture();
            awaitUntil(() ->
                    get(other.inspect(before.name())).orElseThrow().waiters().size() == 1);
            lasting.end();
            assertThat(lost.get(20, TimeUnit.SECONDS)).isIn(LossReason.EXPIRED, LossReason.TAKEN);
            assertThat(lease.isValid()).isFalse();
            awaitUntil(() ->
                    get(other.inspect(before.name())).orElseThrow().waiters().size() == 1);
            released(other, before);
            assertThat(waiter.get(20, TimeUnit.SECONDS).isValid()).isTrue();
        }
    }

    @Test
    void silentServerCausesALossByTheLocalClockBeforeTheSessionEnds() throws Exception {
        Proxy proxy = proxy();
        LockStore cut = openUrl("zookeeper://" + proxy.hosts() + "?sessionTimeout=5s&timeout=1s");
        try (Holdfast locks = Holdfast.over(cut)) {
            CompletableFuture<LossReason> lost = new CompletableFuture<>();
            Lease lease = locks.lock(name.value()).acquire();
            lease.onLost(lost::complete);
            ValidityAtTheGrant next = new ValidityAtTheGrant(lease);
            other.enqueue(bob.mutex(name), next);
            proxy.cut();
            long cutAt = System.nanoTime();
            assertThat(lost.get(20, TimeUnit.SECONDS)).isNotNull();
            assertThat(next.whenGranted())
                    .as("the next claim is granted before the holder knows of its loss")
                    .isFalse();
            assertThat(Duration.ofNanos(System.nanoTime() - cutAt)).isGreaterThan(Duration.ofSeconds(3));
        }
    }

    /**
     * A server that is frozen keeps its connections open. The client itself would notice after 40 s, when the lease of 24 s
     * is over; the store leaves the server when it has not answered a renewal for 6 s.
     */
    @Test
    void silentServerIsLeftForAnotherOneWhileTheLeaseIsStillHeld() throws InterruptedException {
        FaultProxy one = closing(new FaultProxy(server().port()));
        FaultProxy two = closing(new FaultProxy(server().port()));
        LockStore store =
                openUrl("zookeeper://" + one.address() + "," + two.address() + "?sessionTimeout=60s&timeout=20s");
        try (Holdfast locks = Holdfast.over(store)) {
            Claim claim = alice.mutex(name("other"));
            Granted grant = granted(store, claim);
            assertThat(grant.lease()).isEqualTo(Duration.ofSeconds(24));
            Lease lease = locks.lock(name.value()).acquire();
            CompletableFuture<LossReason> lost = new CompletableFuture<>();
            lease.onLost(lost::complete);
            boolean first = one.isUsed();
            (first ? one : two).silence();
            // Any renewal will do, and the lease's own one comes later.
            Granted renewed =
                    (Granted) repaired(() -> get(store.renew(List.of(claim))).get(0));
            assertThat((first ? two : one).isUsed()).isTrue();
            assertThat(renewed.counter()).isEqualTo(grant.counter());
            assertThat(lost).isNotDone();
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    void storeOverAUsersClientDoesNotCloseItsSession() {
        LockStore second = ZooKeeperLockStore.over(client);
        Claim claim = alice.mutex(name);
        granted(second, claim);
        second.close();
        busy(other, bob.mutex(name));
        assertThat(released(store, claim.again())).isTrue();
    }

    /** The one far back knows only that node, which does not change otherwise when its claim is granted. */
    @Test
    void waiterFarBackLearnsThatTheOneBeforeItIsGrantedAlthoughItsConnectionBroke() {
        Proxy proxy = proxy();
        AtomicInteger marks = new AtomicInteger();
        LockStore fragile = open(proxy.hosts());
        List<Claim> before = new ArrayList<>();
        for (int i = 0; i < 9; i++) {
            before.add(bob.claim(name, 1, 2));
            enqueued(other, before.get(i));
        }
        Claim broken = alice.claim(name, 1, 2);
        RecordingListener ofBroken = waiting(fragile, broken);
        Claim far = alice.claim(name, 1, 2);
        RecordingListener ofFar = waiting(store, far);
        proxy.onRequest(kind ->
                kind.equals("setData") && marks.incrementAndGet() == 1 ? Proxy.Action.CUT_BEFORE : Proxy.Action.PASS);
        before.subList(0, 8)
                .forEach(claim -> awaitUntil(() -> get(other.release(claim)).wasOwner()));
        awaitGrant(ofBroken);
        released(other, before.get(8));
        awaitGrant(ofFar);
        assertThat(marks.get()).isGreaterThan(1);
    }

    /** As in one that was let expire: nobody renews or releases it. */
    @Test
    void leaseEndsAlsoIfTheStoreOverAUsersClientIsClosed() {
        LockStore second = ZooKeeperLockStore.over(client);
        granted(second, alice.mutex(name).withLease(Duration.ofSeconds(2)));
        second.close();
        awaitUntil(() -> get(other.tryAcquire(bob.mutex(name))) instanceof Granted);
    }

    @Test
    void waitersOfAClosedStoreOverAUsersClientLeaveTheQueueUnnotified() {
        Claim holder = bob.mutex(name);
        granted(other, holder);
        LockStore second = ZooKeeperLockStore.over(client);
        RecordingListener waiter = waiting(second, alice.mutex(name));
        second.close();
        awaitUntil(() -> get(other.inspect(name)).orElseThrow().waiters().isEmpty());
        released(other, holder);
        awaitUntil(() -> get(other.tryAcquire(bob.mutex(name))) instanceof Granted);
        assertThat(waiter.outcome()).isEmpty();
        assertThat(failure(second.tryAcquire(alice.mutex(name)))).hasMessageContaining("closed");
    }

    @Test
    void closeOfAStoreWithItsOwnSessionEndsItsGrants() {
        LockStore own = open();
        granted(own, alice.mutex(name));
        RecordingListener next = waiting(other, bob.mutex(name));
        own.close();
        awaitGrant(next);
    }

    @Test
    void leaseThatIsNotRenewedLastsWithinTheGuaranteedLifetimeOfTheSession() throws Exception {
        try (Holdfast locks = Holdfast.over(ZooKeeperLockStore.over(client))) {
            LockOptions fixed = LockOptions.defaults().withFixedLease(Duration.ofSeconds(2));
            DistributedLock lock = locks.lock(name.value(), fixed);
            Lease lease = lock.acquire();
            busy(other, bob.mutex(name));
            awaitUntil(() -> !lease.isValid());
            awaitUntil(() -> get(other.tryAcquire(bob.mutex(name))) instanceof Granted);
        }
    }

    @Test
    void waiterWithAFixedLeaseLongerThanTheSessionIsGranted() throws Exception {
        Claim holder = bob.mutex(name);
        granted(other, holder);
        try (Holdfast locks = Holdfast.over(ZooKeeperLockStore.over(client))) {
            LockOptions fixed = LockOptions.defaults().withFixedLease(Duration.ofSeconds(30));
            CompletableFuture<Lease> waiter =
                    locks.lock(name.value(), fixed).acquireAsync().toCompletableFuture();
            awaitUntil(() -> !get(other.inspect(name)).orElseThrow().waiters().isEmpty());
            released(other, holder);
            assertThat(waiter.get(20, TimeUnit.SECONDS).isValid()).isTrue();
        }
    }

    private dev.holdfast.spi.LockName name(String ending) {
        return new dev.holdfast.spi.LockName(name + "-" + ending);
    }

    private boolean answered(Claim claim) {
        return store.renew(java.util.List.of(claim))
                .handle((answers, failure) -> failure == null)
                .toCompletableFuture()
                .join();
    }
}
