package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.RecordingListener;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Defects of other lock clients of etcd, each with a test named after its report. */
class OthersDefectsTest extends WithPlainServer {

    private final List<ManagedChannel> channels = new ArrayList<>();

    @AfterEach
    void closeTheChannels() {
        channels.forEach(ManagedChannel::shutdownNow);
    }

    // The lock service of etcd 3.4 grants to a waiter whose lease is dead.
    @Test
    void etcd11456WaiterWhoseLeaseDiedIsNotGranted() {
        waiterWhoseLeaseDiedIsNotGranted(bob::mutex, bob::mutex);
    }

    // The same in the read-write recipe.
    @Test
    void etcd16221ReaderWhoseKeyIsGoneDoesNotHold() {
        waiterWhoseLeaseDiedIsNotGranted(bob::write, bob::read);
    }

    private void waiterWhoseLeaseDiedIsNotGranted(Function<LockName, Claim> holds, Function<LockName, Claim> waits) {
        LockStore store = open("?session=20s");
        LockStore dying = open("?session=20s");
        Claim holder = holds.apply(name);
        granted(store, holder);
        Claim waiter = waits.apply(name);
        RecordingListener doomed = waiting(dying, waiter);
        RecordingListener next = waiting(store, waits.apply(name));
        revokeLeaseOf(waiter);
        awaitEnd(doomed);
        get(store.release(holder));
        awaitGrant(next);
        doomed.checkContract();
        assertThat(get(store.inspect(name)).orElseThrow().holders()).hasSize(1);
    }

    // A repeated unlock deletes the newer lock of the same session.
    @Test
    void etcd22082RepeatedReleaseDoesNotTouchTheNextClaim() {
        LockStore store = open("");
        Claim first = alice.mutex(name);
        granted(store, first);
        get(store.release(first));
        Claim second = alice.mutex(name);
        long counter = granted(store, second).counter();
        assertThat(get(store.release(first.again())).wasOwner()).isFalse();
        assertThat(get(store.inspect(name)).orElseThrow().counter()).isEqualTo(counter);
    }

    // The lock "a" blocks while "a/b" is held.
    @Test
    void website710NamesThatBeginAlikeDoNotInterfere() {
        LockStore store = open("");
        List<LockName> names = List.of(
                name,
                new LockName(name + "/b"),
                new LockName(name + "/"),
                new LockName(name + "%2Fb"),
                new LockName(name + "%252Fb"),
                new LockName("/" + name),
                new LockName(name + "0"),
                new LockName("%t/" + name));
        names.forEach(one -> granted(store, alice.mutex(one)));
        assertThat(get(store.list("", 1_000))).containsAll(names);
        assertThat(get(store.list(name + "/", 100))).hasSize(2);
        LockStore plain = open("?prefix=");
        LockName outer = new LockName("plain");
        server.control("put", "plain/inner/4711", "somebody's");
        granted(plain, alice.mutex(outer));
        assertThat(get(plain.inspect(outer)).orElseThrow().holders()).hasSize(1);
    }

    // A lock() that timed out or was cancelled gets the lock later, and no caller knows it.
    @Test
    void jetcd291TimedOutWaiterNeverHolds() throws InterruptedException {
        LockStore store = open("");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        try (Holdfast locks = Holdfast.over(open(""))) {
            DistributedLock lock = locks.lock(name.value());
            assertThat(lock.tryLock(200, TimeUnit.MILLISECONDS)).isFalse();
            awaitUntil(() -> get(store.inspect(name)).orElseThrow().waiters().isEmpty());
            get(store.release(holder));
            assertThat(get(store.inspect(name))).isEmpty();
        }
    }

    // A second lock with the same lease is "no operation": both callers get the answer that they hold.
    @Test
    void jetcdLockTwoClaimsOfOneSessionExcludeEachOther() {
        LockStore store = open("");
        Claim first = alice.mutex(name);
        granted(store, first);
        RecordingListener second = waiting(store, alice.mutex(name));
        get(store.release(first));
        awaitGrant(second);
    }

    // jetcd#749: many leases starve. Here all claims of a client are attached to one lease.
    @Test
    void jetcd749ManyClaimsShareOneLease() {
        LockStore store = open("?session=20s");
        for (int i = 0; i < 200; i++) {
            granted(store, alice.mutex(new LockName(name + "-" + i)).withLease(Duration.ofMinutes(i + 1)));
        }
        String leases = server.control("lease", "list");
        assertThat(leases.lines().filter(line -> line.matches("[0-9a-f]{10,}")).count())
                .as(leases)
                .isLessThanOrEqualTo(12);
    }

    // A keep-alive stream that ended without an error was the end of all renewals, and no caller was notified.
    @Test
    void jetcd1383KeepAliveThatEndsWithoutAnErrorIsStartedAgain() throws InterruptedException {
        FaultyKeepAlive renewals = new FaultyKeepAlive(Status.OK);
        try (Holdfast locks = Holdfast.over(over(renewals, "session=6s"))) {
            Lease lease = locks.lock(name.value()).acquire();
            renewals.loseNext(3);
            awaitUntil(() -> renewals.lost.get() == 3);
            pause(6_500);
            assertThat(lease.isValid()).as("it outlives its session's time").isTrue();
            assertThat(get(open("").inspect(name)).orElseThrow().holders()).hasSize(1);
            lease.release();
        }
    }

    // The same, but permanently: the holder notices the loss by its own clock, and its key, which the servers would
    // keep, is deleted.
    @Test
    void jetcd965KeepAliveThatEndsForGoodWithoutAnErrorIsReportedAsALossInTime() throws InterruptedException {
        FaultyKeepAlive renewals = new FaultyKeepAlive(Status.OK);
        LockStore elsewhere = open("?session=20s");
        try (Holdfast locks = Holdfast.over(over(renewals, "session=5s"))) {
            CountDownLatch lost = new CountDownLatch(1);
            Lease lease = locks.lock(name.value()).acquire();
            lease.onLost(reason -> lost.countDown());
            RecordingListener next = waiting(elsewhere, bob.mutex(name));
            renewals.loseNext(Integer.MAX_VALUE);
            assertThat(lost.await(1, TimeUnit.MINUTES)).isTrue();
            assertThat(renewals.lost).hasPositiveValue();
            assertThat(lease.isValid()).isFalse();
            awaitGrant(next);
        }
    }

    // The renewal was done but its answer was lost, and then the lock was lost.
    @Test
    void dynamolock280RenewalWhoseAnswerIsLostKeepsTheLock() {
        FaultyKeepAlive renewals = new FaultyKeepAlive(Status.UNAVAILABLE.withDescription("lost by the test"));
        LockStore store = over(renewals, "session=20s");
        Claim claim = alice.mutex(name);
        long counter = granted(store, claim).counter();
        renewals.loseNext(1);
        assertThat(failure(store.renew(List.of(claim))).retryable()).isTrue();
        assertThat(renewals.lost).hasValue(1);
        assertThat(renewed(store, claim))
                .isInstanceOfSatisfying(
                        Granted.class, held -> assertThat(held.counter()).isEqualTo(counter));
    }

    private LockStore over(FaultyKeepAlive renewals, String options) {
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", server.port())
                .usePlaintext()
                .intercept(renewals)
                .build();
        channels.add(channel);
        return closing(EtcdLockStore.over(channel, options));
    }
}
