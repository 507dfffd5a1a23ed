package dev.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What a quorum does when its nodes are down, do not answer, disagree or lose their data. */
class QuorumTest extends StoreTest {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration MAX_LEASE = Duration.ofMinutes(1);
    private static final QuorumOptions OPTIONS = new QuorumOptions(MAX_LEASE, Duration.ofMillis(500), true);

    private final ManualClock clock = new ManualClock(Seeds.of("quorum"));
    private final MemoryNodes nodes = new MemoryNodes(3, clock);
    private final QuorumLockStore store = closing(nodes.open(OPTIONS));
    private final Claimant carol = new Claimant("carol", LEASE);
    private final Claimant dave = new Claimant("dave", LEASE);

    private void nodesAreDown(boolean value, int... which) {
        for (int index : which) {
            nodes.node(index).isDown(value);
        }
    }

    private List<Claim> heldAt(int node) {
        return holders(nodes.node(node).store(), name);
    }

    /** A majority has confirmed the release; at the third node it is on its way, on a connection that would be closed under it. */
    @Test
    void closeWaitsForAReleaseThatIsOnItsWay() throws InterruptedException {
        QuorumLockStore closed = closing(nodes.open(new QuorumOptions(MAX_LEASE, Duration.ofSeconds(6), true)));
        Claim claim = carol.mutex(name);
        granted(closed, claim);
        nodes.node(2).delays("release");
        assertThat(get(closed.release(claim)).wasOwner()).isTrue();
        Thread thread = new Thread(closed::close, "closing");
        thread.start();
        while (thread.getState() != Thread.State.TIMED_WAITING && thread.isAlive()) {
            Thread.onSpinWait();
        }
        assertThat(thread.isAlive()).as("the close waits for the answer").isTrue();
        nodes.node(2).delivers();
        thread.join();
        assertThat(heldAt(2)).isEmpty();
    }

    @Test
    void minorityThatIsDownCostsNothing() {
        nodesAreDown(true, 1);
        Claim claim = carol.mutex(name);
        granted(store, claim);
        busy(store, dave.mutex(name));
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        assertThat(released(store, claim)).isTrue();
        granted(store, dave.mutex(name));
    }

    @Test
    void nodeThatThrowsIsOneThatDoesNotAnswer() {
        nodes.node(1).isBroken();
        Claim claim = carol.mutex(name);
        granted(store, claim);
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        assertThat(released(store, claim)).isTrue();
        nodes.node(2).isBroken();
        assertThat(failure(store.tryAcquire(claim))).hasMessageContaining("the node is broken");
    }

    @Test
    void withoutAMajorityNothingIsGrantedAndNothingIsLeft() {
        nodesAreDown(true, 1, 2);
        StoreException failure = failure(store.tryAcquire(carol.mutex(name)));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isTrue();
        assertThat(failure).hasMessageContaining(name.value()).hasMessageContaining("the node is down");
        assertThat(heldAt(0)).isEmpty();
    }

    @Test
    void whatANodeGrantedWithoutAnAnswerIsReleasedWhenItAnswersAgain() {
        nodesAreDown(true, 2);
        nodes.node(1).losesReplies(true);
        assertThat(failure(store.tryAcquire(carol.mutex(name))).effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(heldAt(0)).isEmpty();
        nodes.node(1).losesReplies(false);
        nodesAreDown(false, 2);
        awaitUntil(() -> heldAt(1).isEmpty());
        granted(store, dave.mutex(name));
    }

    @Test
    void nodeThatADowngradeHasNotReachedDoesNotShowTheOldPermits() {
        Claim write = carol.write(name);
        granted(store, write);
        nodesAreDown(true, 0);
        granted(store, write.withPermits(1));
        nodesAreDown(false, 0);
        assertThat(heldAt(0)).extracting(Claim::permits).containsExactly(write.permits());
        assertThat(holders(store, name)).extracting(Claim::permits).containsExactly(1);
    }

    @Test
    void nodeThatARenewalHasNotReachedDoesNotShowTheOldOwner() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        clock.advance(LEASE.dividedBy(3));
        OwnerInfo present = new OwnerInfo("carol", "", 0, "another thread", "", List.of());
        nodesAreDown(true, 0);
        assertThat(renewed(store, claim.withOwner(present))).isInstanceOf(Granted.class);
        nodesAreDown(false, 0);
        assertThat(heldAt(0)).extracting(Claim::owner).doesNotContain(present);
        assertThat(holders(store, name)).extracting(Claim::owner).containsExactly(present);
    }

    /** A renewal has reached one node only, which keeps nothing alone. */
    @Test
    void leaseIsThatForWhichAMajorityKeepsTheClaim() {
        Duration passed = LEASE.dividedBy(3);
        Claim claim = carol.mutex(name);
        granted(store, claim);
        clock.advance(passed);
        nodesAreDown(true, 1, 2);
        assertThat(renewed(store, claim)).isInstanceOf(Renewed.Failed.class);
        nodesAreDown(false, 1, 2);
        assertThat(granted(store, claim).lease()).isPositive().isLessThanOrEqualTo(LEASE.minus(passed));
    }

    @Test
    void splitVoteLeavesNothing() {
        granted(nodes.node(0).store(), carol.mutex(name));
        granted(nodes.node(1).store(), dave.mutex(name));
        busy(store, carol.mutex(name));
        assertThat(heldAt(2)).isEmpty();
    }

    /** The engine asks for a claim again with the same id. A release of its first attempt that is still on its way ends any. */
    @Test
    void releaseOfAFailedAttemptDoesNotEndTheGrantOfALaterOne() {
        Claim first = dave.mutex(name);
        granted(nodes.node(1).store(), first);
        granted(nodes.node(2).store(), first);
        nodes.node(0).delays("release");
        Claim claim = carol.mutex(name);
        CompletableFuture<Attempt> failing = store.tryAcquire(claim).toCompletableFuture();
        clock.advance(OPTIONS.nodeTimeout());
        assertThat(get(failing)).isInstanceOf(Attempt.Busy.class);
        released(nodes.node(1).store(), first);
        boolean early = isGranted(claim);
        nodes.node(0).delivers();
        released(nodes.node(2).store(), first);
        if (early) {
            assertThat(isGranted(dave.mutex(name))).as("two hold the lock").isFalse();
        } else {
            granted(store, claim);
        }
    }

    private boolean isGranted(Claim claim) {
        try {
            return get(store.tryAcquire(claim)) instanceof Granted;
        } catch (StoreException noMajority) {
            return false;
        }
    }

    /** Without writing the token back, the second token would be 4: a majority with the counters 3 and 1 grants it. */
    @Test
    void tokenIsWrittenBackToAMajority() {
        long base = counterAt(0, 0) + 10_000_000;
        raiseTo(0, base + 10);
        raiseTo(1, base + 3);
        raiseTo(2, base + 1);
        nodesAreDown(true, 2);
        Claim first = carol.mutex(name);
        long token = granted(store, first).counter();
        assertThat(token).isEqualTo(base + 11);
        released(store, first);
        nodesAreDown(false, 2);
        nodesAreDown(true, 0);
        assertThat(granted(store, dave.mutex(name)).counter()).isGreaterThan(token);
    }

    private long counterAt(int node, long least) {
        Claim claim = dave.mutex(name);
        LockStore at = nodes.node(node).store();
        Attempt attempt = get(at.tryAcquireAsNode(claim, least, true)).attempt();
        released(at, claim);
        return ((Granted) attempt).counter();
    }

    private void raiseTo(int node, long counter) {
        assertThat(counterAt(node, counter)).isEqualTo(counter);
    }

    @Test
    void nodeThatLostItsDataIsNotCountedWhileAForgottenGrantMayLast() {
        nodesAreDown(true, 2);
        Claim claim = carol.mutex(name).withLease(MAX_LEASE);
        granted(store, claim);
        clock.advance(Duration.ofMillis(1));
        nodes.node(1).losesItsData();
        nodesAreDown(false, 2);
        clock.advance(MAX_LEASE.dividedBy(2));
        assertThatNobodyIsGranted();
        clock.advance(MAX_LEASE.dividedBy(2).plusSeconds(1));
        granted(store, dave.mutex(name));
    }

    private void assertThatNobodyIsGranted() {
        try {
            assertThat(get(store.tryAcquire(dave.mutex(name)))).isInstanceOf(Attempt.Busy.class);
        } catch (StoreException notEnoughNodes) {
            assertThat(notEnoughNodes).hasMessageContaining("may have lost data");
        }
    }

    @Test
    void oldNodesAreCountedWithoutTheOptionAndNewOnesAreNot() {
        QuorumLockStore strict = closing(nodes.open(new QuorumOptions(MAX_LEASE, Duration.ofMillis(500), false)));
        StoreException failure = failure(strict.tryAcquire(carol.mutex(name)));
        assertThat(failure).hasMessageContaining("may have lost data");
        assertThat(heldAt(0)).isEmpty();
        clock.advance(MAX_LEASE.plusSeconds(1));
        granted(strict, carol.mutex(name));
    }

    @Test
    void renewalGivesTheClaimToNodesThatCameBack() {
        nodesAreDown(true, 2);
        Claim claim = carol.mutex(name);
        long token = granted(store, claim).counter();
        nodesAreDown(false, 2);
        nodes.node(1).losesItsData();
        Renewed renewed = renewed(store, claim);
        assertThat(renewed).isInstanceOf(Granted.class);
        assertThat(((Granted) renewed).counter()).isEqualTo(token);
        assertThat(heldAt(2)).hasSize(1);
        // The other one may have been told to forget it, so it is given the claim when its vote would have ended.
        Duration step = LEASE.dividedBy(2).plusMillis(500);
        for (int i = 0; i < 2; i++) {
            clock.advance(step);
            assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        }
        assertThat(heldAt(1)).hasSize(1);
        assertThat(released(store, claim)).isTrue();
        granted(store, dave.mutex(name));
    }

    @Test
    void lockThatWasBrokenIsNotTakenBackByARenewal() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        QuorumLockStore operator = closing(nodes.open(OPTIONS));
        assertThat(released(operator, holders(operator, name).get(0))).isTrue();
        assertThat(renewed(store, claim)).isInstanceOf(Renewed.Gone.class);
        granted(operator, dave.mutex(name));
    }

    @Test
    void renewalWithoutAMajorityFailsAndLosesNothing() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodesAreDown(true, 1, 2);
        Renewed failed = renewed(store, claim);
        assertThat(failed).isInstanceOf(Renewed.Failed.class);
        nodesAreDown(false, 1, 2);
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
    }

    @Test
    void nodeThatWasAwayForTheReleaseGetsItLater() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodesAreDown(true, 2);
        assertThat(released(store, claim)).isTrue();
        assertThat(heldAt(2)).hasSize(1);
        nodesAreDown(false, 2);
        // The calls of others show that the node answers again.
        for (int i = 0; i < Node.MISSES; i++) {
            Claim other = dave.mutex(name);
            granted(store, other);
            released(store, other);
        }
        awaitUntil(() -> heldAt(2).isEmpty());
    }

    @Test
    void failedDowngradeKeepsTheLock() {
        Claim write = carol.write(name);
        long token = granted(store, write).counter();
        nodesAreDown(true, 1, 2);
        assertThat(failure(store.tryAcquire(write.withPermits(1))).effect()).isEqualTo(Effect.UNKNOWN);
        nodesAreDown(false, 1, 2);
        busy(store, dave.write(name));
        assertThat(granted(store, write.withPermits(1)).counter()).isEqualTo(token);
        granted(store, dave.read(name));
    }

    @Test
    void otherKindIsRefusedByName() {
        granted(store, carol.mutex(name));
        assertThat(failure(store.tryAcquire(dave.read(name)))).isInstanceOf(KindConflictException.class);
    }

    @Test
    void semaphoresAndLongLeasesAreRefusedBeforeAnythingIsSent() {
        StoreException semaphore = failure(store.tryAcquire(carol.claim(name, 1, 2)));
        assertThat(semaphore).hasMessageContaining("semaphore of 2").hasMessageContaining(name.value());
        StoreException lease = failure(store.tryAcquire(carol.mutex(name).withLease(MAX_LEASE.plusMillis(1))));
        assertThat(lease)
                .hasMessageContaining("lockAtMostFor")
                .hasMessageContaining("#maxLease=" + (MAX_LEASE.toSeconds() + 1) + "s");
        for (StoreException refusal : List.of(semaphore, lease)) {
            assertThat(refusal.effect()).isEqualTo(Effect.NONE);
            assertThat(refusal.retryable()).isFalse();
        }
        assertThat(heldAt(0)).isEmpty();
    }

    /** A grant that is valid for longer than nodes that lost their data stay out would let them grant it again. */
    @Test
    void renewalForLongerThanMaxLeaseIsRefusedAndOthersOfItsBatchAreMade() {
        Claim claim = carol.mutex(name);
        Claim other = dave.mutex(new LockName(name.value() + "-other"));
        granted(store, claim);
        granted(store, other);
        List<Renewed> renewed = get(store.renew(List.of(claim.withLease(MAX_LEASE.plusMillis(1)), other)));
        assertThat(renewed.get(0))
                .isInstanceOfSatisfying(
                        Renewed.Failed.class,
                        failed -> assertThat(failed.cause())
                                .hasMessageContaining("maxLease")
                                .satisfies(
                                        cause -> assertThat(cause.retryable()).isFalse()));
        assertThat(renewed.get(1)).isInstanceOf(Granted.class);
        clock.advance(LEASE.plusSeconds(1));
        granted(store, dave.mutex(name));
    }

    @Test
    void numberOfNodesMustBeOdd() {
        for (int count : new int[] {0, 1, 2, 4, 17}) {
            MemoryNodes wrong = new MemoryNodes(count, clock);
            assertThatThrownBy(() -> wrong.open(OPTIONS))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("odd number")
                    .hasMessageContaining(Integer.toString(count));
        }
    }

    @Test
    void storeThatCannotAgreeOnCountersIsNoNode() {
        LockStore quorum = store;
        List<LockStore> stores = List.of(new MemoryLockStore(), new MemoryLockStore(), quorum);
        assertThatThrownBy(() -> QuorumLockStore.over(stores, OPTIONS))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("cannot have these nodes");
    }

    @Test
    void quorumIsNotOpenedWithoutAMajority() {
        nodesAreDown(true, 0, 2);
        assertThatThrownBy(() -> nodes.open(OPTIONS))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("the node is down");
    }

    /** A node with hints; one of them, or its end, may fail. */
    private static final class HintingNode extends ForwardingStore {

        private final boolean isBroken;
        private final Set<Runnable> watching = new HashSet<>();
        private boolean closed;

        private HintingNode(MonotonicClock clock, boolean isBroken) {
            super(new MemoryLockStore(clock));
            this.isBroken = isBroken;
        }

        @Override
        public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
            failIfBroken();
            watching.add(mayBeFree);
            return () -> watching.remove(mayBeFree);
        }

        @Override
        public void close() {
            closed = true;
            failIfBroken();
        }

        private void failIfBroken() {
            if (isBroken) {
                throw new IllegalStateException("the node is broken");
            }
        }
    }

    @Test
    void nodeThatFailsToWatchOrToCloseDoesNotKeepTheOthersOpen() {
        List<HintingNode> hinting =
                List.of(new HintingNode(clock, false), new HintingNode(clock, true), new HintingNode(clock, false));
        QuorumLockStore quorum = QuorumLockStore.over(List.copyOf(hinting), OPTIONS, clock, QuorumLockStore.TIMER);
        List<String> hints = new ArrayList<>();
        ListenerRegistration watch = quorum.watch(name, () -> hints.add("may be free"));
        hinting.get(2).watching.forEach(Runnable::run);
        assertThat(hints).as("the hint of any node arrives").hasSize(1);
        watch.close();
        assertThat(hinting).allSatisfy(node -> assertThat(node.watching).isEmpty());
        assertThatThrownBy(quorum::close).hasMessage("the node is broken");
        assertThat(hinting).allSatisfy(node -> assertThat(node.closed).isTrue());
    }
}
