package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.zookeeper.Proxy.Action;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Test;

/**
 * The connection breaks at each request of each operation, once before and once after the server receives it: no
 * node is left behind, no lock is granted twice, and the token stays the same.
 */
class LostReplyTest extends WithServer {

    private final CuratorFramework observer = curator();
    private final LockStore other = open();

    private interface Case {
        void run(LockStore store, Proxy proxy, LockName name) throws Exception;
    }

    @Test
    void repeatedAcquireFindsItsOwnNode() throws Exception {
        forEachStep(List.of("create2", "getChildren", "createContainer"), (kind, action) -> (store, proxy, lock) -> {
            Claim claim = alice.mutex(lock);
            StoreException first = failure(broken(proxy, kind, action, () -> store.tryAcquire(claim)));
            assertThat(first.effect()).isEqualTo(Effect.UNKNOWN);
            Attempt attempt = repeated(() -> store.tryAcquire(claim.again()));
            assertThat(attempt).isInstanceOf(Granted.class);
            assertThat(nodes(observer, lock)).hasSize(1);
            long counter = ((Granted) attempt).counter();
            assertThat(((Granted) renewed(store, claim)).counter()).isEqualTo(counter);
            busy(other, bob.mutex(lock));
            assertThat(released(store, claim.again())).isTrue();
            // A busy attempt deletes its node after its reply, in the background.
            awaitUntil(() -> nodes(observer, lock).isEmpty());
        });
    }

    @Test
    void abandonedAcquireLeavesNoNode() throws Exception {
        forEachStep(List.of("create2", "getChildren"), (kind, action) -> (store, proxy, lock) -> {
            Claim claim = alice.mutex(lock);
            failure(broken(proxy, kind, action, () -> store.tryAcquire(claim)));
            repeated(() -> store.release(claim.again()));
            assertThat(nodes(observer, lock)).isEmpty();
            busy(store, claim);
            granted(other, bob.mutex(lock));
        });
    }

    @Test
    void repeatedEnqueueKeepsItsQueuePosition() throws Exception {
        forEachStep(List.of("create2", "getChildren"), (kind, action) -> (store, proxy, lock) -> {
            assertQueuePositionIsKept(kind, action, store, proxy, lock);
        });
    }

    /** The list follows when the create was answered, and has shown that the claim is not alone. */
    @Test
    void repeatedEnqueueOfALockThatWasFreeKeepsItsQueuePosition() throws Exception {
        forEachStep(List.of("multi", "getChildren"), (kind, action) -> (store, proxy, lock) -> {
            Claim before = alice.mutex(lock);
            granted(store, before);
            released(store, before);
            assertQueuePositionIsKept(kind, action, store, proxy, lock);
        });
    }

    private void assertQueuePositionIsKept(String kind, Action action, LockStore store, Proxy proxy, LockName lock) {
        Claim holder = bob.mutex(lock);
        granted(other, holder);
        Claim claim = alice.mutex(lock);
        breakAt(proxy, kind, action);
        RecordingListener lost = enqueued(store, claim);
        assertFailedNaming(lock, lost);
        repeated(() -> store.inspect(lock));
        RecordingListener again = waiting(store, claim.again());
        assertThat(nodes(observer, lock)).hasSize(2);
        released(other, holder);
        awaitGrant(again);
        assertThat(released(store, claim.again())).isTrue();
    }

    private static void assertFailedNaming(LockName lock, RecordingListener lost) {
        assertThat(lost.first(RecordingListener.Event.Failed.class))
                .hasValueSatisfying(failed -> assertThat(failed.cause()).hasMessageContaining(lock.value()));
    }

    /** The create of its node also counts the others, so there is no list. */
    @Test
    void repeatedEnqueueOfALockThatWasFreeFindsItsOwnNode() throws Exception {
        forEachStep(List.of("multi"), (kind, action) -> (store, proxy, lock) -> {
            Claim before = alice.mutex(lock);
            granted(store, before);
            released(store, before);
            Claim claim = alice.mutex(lock);
            breakAt(proxy, kind, action);
            RecordingListener lost = enqueued(store, claim);
            assertFailedNaming(lock, lost);
            repeated(() -> store.inspect(lock));
            RecordingListener again = enqueued(store, claim.again());
            awaitGrant(again);
            assertThat(nodes(observer, lock)).hasSize(1);
            busy(other, bob.mutex(lock));
            assertThat(released(store, claim.again())).isTrue();
            awaitUntil(() -> nodes(observer, lock).isEmpty());
        });
    }

    @Test
    void releaseIsRepeatedUntilItIsDone() throws Exception {
        forEachStep(List.of("delete"), (kind, action) -> (store, proxy, lock) -> {
            Claim claim = alice.mutex(lock);
            granted(store, claim);
            breakAt(proxy, kind, action);
            assertThat(failure(store.release(claim)).effect()).isEqualTo(Effect.UNKNOWN);
            repeated(() -> store.release(claim));
            assertThat(nodes(observer, lock)).isEmpty();
            granted(other, bob.mutex(lock));
        });
    }

    @Test
    void failedRemovalOfABusyAttemptIsRepeated() throws Exception {
        forEachStep(List.of("delete"), (kind, action) -> (store, proxy, lock) -> {
            granted(other, bob.mutex(lock));
            breakAt(proxy, kind, action);
            busy(store, alice.mutex(lock));
            awaitUntil(() -> nodes(observer, lock).size() == 1);
        });
    }

    @Test
    void downgradeIsRepeatedAndKeepsTheToken() throws Exception {
        forEachStep(List.of("multi"), (kind, action) -> (store, proxy, lock) -> {
            Claim writer = alice.write(lock);
            long counter = granted(store, writer).counter();
            Claim reader = writer.withPermits(1).again();
            breakAt(proxy, kind, action);
            assertThat(failure(store.tryAcquire(reader)).effect()).isEqualTo(Effect.UNKNOWN);
            Attempt attempt = repeated(() -> store.tryAcquire(reader));
            assertThat(((Granted) attempt).counter()).isEqualTo(counter);
            assertThat(nodes(observer, lock)).hasSize(1);
            granted(other, bob.read(lock));
        });
    }

    /** The renewal looks for the write lock's node, which is gone, and finds the read lock's, which is the same claim's. */
    @Test
    void renewalAfterADowngradeWhoseReplyWasLostFindsTheReadLock() throws Exception {
        forEachStep(List.of("multi"), (kind, action) -> (store, proxy, lock) -> {
            Claim writer = alice.write(lock);
            long counter = granted(store, writer).counter();
            Claim reader = writer.withPermits(1).again();
            breakAtDowngrade(proxy, action);
            assertThat(failure(store.tryAcquire(reader)).effect()).isEqualTo(Effect.UNKNOWN);
            Renewed answer = repeated(() -> store.renew(List.of(reader))).get(0);
            assertThat(answer).isInstanceOf(Granted.class);
            assertThat(((Granted) answer).counter()).isEqualTo(counter);
            assertThat(nodes(observer, lock)).hasSize(1);
            assertThat(released(store, reader)).isTrue();
            assertThat(nodes(observer, lock)).isEmpty();
        });
    }

    @Test
    void leaseThatExpiresAfterADowngradeWhoseReplyWasLostLeavesNoNode() throws Exception {
        forEachStep(List.of("multi"), (kind, action) -> (store, proxy, lock) -> {
            Claim writer = alice.write(lock).withLease(java.time.Duration.ofSeconds(2));
            granted(store, writer);
            breakAtDowngrade(proxy, action);
            failure(store.tryAcquire(writer.withPermits(1).again()));
            awaitUntil(() -> nodes(observer, lock).isEmpty());
        });
    }

    /** A downgrade searches the claim, which is a multi and a list, and replaces its node with another multi. */
    private static void breakAtDowngrade(Proxy proxy, Action action) {
        AtomicInteger multis = new AtomicInteger();
        proxy.onRequest(asked -> asked.equals("multi") && multis.incrementAndGet() == 2 ? action : Action.PASS);
    }

    @Test
    void repeatedAttemptAtSeveralFindsItsOwnNodes() throws Exception {
        forEachStep(List.of("multi", "getChildren", "createContainer"), (kind, action) -> (store, proxy, lock) -> {
            List<Claim> claims = several(lock);
            assertThat(failure(broken(proxy, kind, action, () -> store.tryAcquireAll(claims)))
                            .effect())
                    .isEqualTo(Effect.UNKNOWN);
            List<Claim> again = claims.stream().map(Claim::again).toList();
            List<Attempt> attempts = repeated(() -> store.tryAcquireAll(again));
            assertThat(attempts).hasSize(3).allMatch(Granted.class::isInstance);
            for (int i = 0; i < 3; i++) {
                Claim claim = claims.get(i);
                awaitUntil(() -> nodes(observer, claim.name()).size() == 1);
                long counter = ((Granted) attempts.get(i)).counter();
                assertThat(((Granted) renewed(store, claim)).counter()).isEqualTo(counter);
                assertThat(released(store, claim.again())).isTrue();
                assertThat(nodes(observer, claim.name())).isEmpty();
            }
        });
    }

    @Test
    void abandonedAttemptAtSeveralLeavesNoNode() throws Exception {
        forEachStep(List.of("multi", "getChildren"), (kind, action) -> (store, proxy, lock) -> {
            List<Claim> claims = several(lock);
            failure(broken(proxy, kind, action, () -> store.tryAcquireAll(claims)));
            for (Claim claim : claims) {
                repeated(() -> store.release(claim.again()));
                awaitUntil(() -> nodes(observer, claim.name()).isEmpty());
                granted(other, bob.claim(claim.name(), claim.limit(), claim.limit()));
            }
        });
    }

    @Test
    void repeatedAttemptAtSeveralIsBusyAndLeavesNothingIfOneWasTakenBefore() throws Exception {
        forEachStep(List.of("multi", "getChildren"), (kind, action) -> (store, proxy, lock) -> {
            List<Claim> claims = several(lock);
            granted(other, bob.write(claims.get(1).name()));
            failure(broken(proxy, kind, action, () -> store.tryAcquireAll(claims)));
            List<Claim> again = claims.stream().map(Claim::again).toList();
            assertThat(repeated(() -> store.tryAcquireAll(again))).noneMatch(Granted.class::isInstance);
            awaitUntil(() -> nodes(observer, claims.get(0).name()).isEmpty()
                    && nodes(observer, claims.get(1).name()).size() == 1
                    && nodes(observer, claims.get(2).name()).isEmpty());
        });
    }

    @Test
    void failedRemovalOfABusyAttemptAtSeveralIsRepeated() throws Exception {
        forEachStep(List.of("multi"), (kind, action) -> (store, proxy, lock) -> {
            List<Claim> claims = several(lock);
            granted(other, bob.write(claims.get(1).name()));
            AtomicInteger multis = new AtomicInteger();
            proxy.onRequest(asked -> asked.equals(kind) && multis.incrementAndGet() == 2 ? action : Action.PASS);
            assertThat(get(store.tryAcquireAll(claims))).noneMatch(Granted.class::isInstance);
            awaitUntil(() -> nodes(observer, claims.get(0).name()).isEmpty()
                    && nodes(observer, claims.get(1).name()).size() == 1
                    && nodes(observer, claims.get(2).name()).isEmpty());
        });
    }

    private List<Claim> several(LockName lock) {
        return List.of(
                alice.mutex(new LockName(lock + "-1")),
                alice.write(new LockName(lock + "-2")),
                alice.claim(new LockName(lock + "-3"), 2, 3));
    }

    @Test
    void renewalIsRepeated() throws Exception {
        forEachStep(List.of("multi", "getData", "setData"), (kind, action) -> (store, proxy, lock) -> {
            Claim claim = alice.mutex(lock);
            long counter = granted(store, claim).counter();
            Claim renamed = new Claim(lock, claim.id(), 1, 1, claim.lease(), dev.holdfast.spi.OwnerInfo.of("somebody"));
            breakAt(proxy, kind, action);
            CompletionStage<List<Renewed>> first = store.renew(List.of(renamed));
            first.toCompletableFuture().handle((answers, failure) -> true).join();
            Renewed answer = repeated(() -> store.renew(List.of(renamed))).get(0);
            assertThat(answer).isInstanceOf(Granted.class);
            assertThat(((Granted) answer).counter()).isEqualTo(counter);
        });
    }

    @Test
    void watchesSurviveABrokenConnection() throws Exception {
        // The first read is that of the own node, the second one that of the node before it.
        forEachStep(List.of("1", "2"), (read, action) -> (store, proxy, lock) -> {
            Claim holder = bob.mutex(lock);
            granted(other, holder);
            Claim claim = alice.mutex(lock);
            AtomicInteger reads = new AtomicInteger();
            proxy.onRequest(asked -> asked.equals("getData") && reads.incrementAndGet() == Integer.parseInt(read)
                    ? action
                    : Action.PASS);
            RecordingListener listener = waiting(store, claim);
            pause(100);
            released(other, holder);
            awaitUntil(() -> {
                store.renew(List.of(claim));
                pause(100);
                return listener.outcome().isPresent();
            });
            awaitGrant(listener);
            busy(other, bob.mutex(lock));
        });
    }

    // A wait set watches only its own node. Without that watch, an attempt may be the first to find that the node was
    // deleted.
    @Test
    void attemptThatFindsAnEnqueuedClaimGoneNotifiesItsListener() throws Exception {
        forEachStep(List.of("getData"), (kind, action) -> (store, proxy, lock) -> {
            waiting(other, bob.waitSet(lock));
            Claim claim = alice.waitSet(lock);
            breakAt(proxy, kind, action);
            RecordingListener listener = waiting(store, claim);
            repeated(() -> store.inspect(lock));
            assertThat(released(other, claim.again())).isTrue();
            repeated(() -> store.tryAcquire(claim.again()));
            assertThat(awaitEnd(listener)).isEqualTo(Renewed.Reason.RELEASED);
        });
    }

    private static void breakAt(Proxy proxy, String kind, Action action) {
        breakAt(proxy, kind, () -> action);
    }

    private static void breakAt(Proxy proxy, String kind, Supplier<Action> action) {
        AtomicBoolean done = new AtomicBoolean();
        proxy.onRequest(asked -> asked.equals(kind) && done.compareAndSet(false, true) ? action.get() : Action.PASS);
    }

    // Breaks the connection at a request of this call, and not before all that it sends at once is sent: a client
    // that has learned of the break would send the rest on its next connection, where it may work.
    private static <T> CompletionStage<T> broken(
            Proxy proxy, String kind, Action action, Supplier<CompletionStage<T>> call) {
        CompletableFuture<Action> whenSent = new CompletableFuture<>();
        breakAt(proxy, kind, whenSent::join);
        CompletionStage<T> answer = call.get();
        whenSent.complete(action);
        return answer;
    }

    // Repeats a call, as the engine does, until the store is reachable again.
    private static <T> T repeated(Supplier<CompletionStage<T>> call) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (true) {
            try {
                return get(call.get());
            } catch (StoreException failure) {
                assertThat(failure.retryable()).as("%s", failure).isTrue();
                assertThat(System.nanoTime() - deadline).as("%s", failure).isNegative();
                pause(20);
            }
        }
    }

    private interface Cases {
        Case of(String kind, Action action);
    }

    // Runs all cases at the same time, because they mostly wait for the next connection.
    private void forEachStep(List<String> kinds, Cases cases) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<?>> running = new ArrayList<>();
        for (String kind : kinds) {
            for (Action action : List.of(Action.CUT_BEFORE, Action.CUT_AFTER)) {
                Proxy proxy = proxy();
                LockStore store = open(proxy.hosts());
                LockName lock = new LockName(name + "-" + kind + "-" + action);
                running.add(threads.submit(() -> {
                    try {
                        cases.of(kind, action).run(store, proxy, lock);
                    } catch (Throwable failure) {
                        throw new AssertionError(kind + " " + action, failure);
                    }
                    return null;
                }));
            }
        }
        threads.shutdown();
        for (Future<?> one : running) {
            one.get(60, TimeUnit.SECONDS);
        }
    }
}
