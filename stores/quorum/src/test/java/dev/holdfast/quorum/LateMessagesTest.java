package dev.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.NodeRole;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a quorum does when messages come late, or in another order than they were sent. Time is simulated. */
class LateMessagesTest extends StoreTest {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration NODE_TIMEOUT = Duration.ofMillis(500);
    private static final QuorumOptions OPTIONS = new QuorumOptions(Duration.ofMinutes(1), NODE_TIMEOUT, true);
    /** Shorter than the time limit of a node. */
    private static final Duration SHORT_LEASE = Duration.ofMillis(400);
    /** Longer than all time limits and repetitions, and far shorter than a lease. */
    private static final Duration SOON = Duration.ofSeconds(5);

    private final SimulatedTime time = new SimulatedTime(Seeds.of("late messages"));
    private final MemoryNodes nodes = new MemoryNodes(3, time.clock());
    private final QuorumLockStore store =
            closing(nodes.open(OPTIONS, delay -> task -> time.after(delay.toNanos(), task)));
    private final Claimant carol = new Claimant("carol", LEASE);
    private final Claimant dave = new Claimant("dave", LEASE);

    private List<Claim> heldAt(int node) {
        return holders(nodes.node(node).store(), name);
    }

    private <T> CompletableFuture<T> after(Duration span, CompletionStage<T> call) {
        time.run(span);
        assertThat(call.toCompletableFuture()).as("the outcome").isDone();
        return call.toCompletableFuture();
    }

    private Renewed renewedAfter(Duration span, Claim claim) {
        return get(after(span, store.renew(List.of(claim)))).get(0);
    }

    private void assertThatNothingIsLeft() {
        time.run(SOON);
        for (int i = 0; i < 3; i++) {
            assertThat(heldAt(i)).as("node %d", i).isEmpty();
        }
        granted(store, dave.mutex(name));
    }

    /** Gives the nodes counters so far apart that an acquisition has to raise those of two. */
    private void countersDiffer() {
        for (int i = 0; i < 3; i++) {
            Claim claim = dave.mutex(name);
            LockStore node = nodes.node(i).store();
            long high = time.clock().epochMicros() + 100_000_000 - i * 1_000_000;
            get(node.tryAcquireAsNode(claim, high, true));
            released(node, claim);
        }
    }

    /** Law 5: an attempt that joins one which is under way must not count the lease from its own, later request. */
    @Test
    void leaseOfAnAttemptThatJoinsAnotherCountsFromItsOwnRequest() {
        Claim claim = carol.mutex(name);
        for (int i = 0; i < 3; i++) {
            nodes.node(i).repliesLate("tryAcquireAsNode");
        }
        CompletionStage<Attempt> first = store.tryAcquire(claim);
        Duration between = Duration.ofMillis(300);
        time.run(between);
        CompletionStage<Attempt> second = store.tryAcquire(claim.again());
        for (int i = 0; i < 3; i++) {
            nodes.node(i).delivers();
        }
        assertThat(get(first)).isInstanceOf(Granted.class);
        Granted granted = (Granted) get(second);
        assertThat(granted.lease()).isLessThanOrEqualTo(LEASE.minus(between));
    }

    /** Such a name was listed as in use, and others heard that a claim which nobody holds had taken their lock. */
    @Test
    void claimWhoseReleaseIsOnItsWayToAMinorityIsNeitherListedNorTheReasonOfALoss() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        Claim lost = dave.mutex(name);
        assertThat(renewedAfter(Duration.ZERO, lost)).isEqualTo(new Renewed.Gone(Reason.TAKEN));
        nodes.node(2).delays("release");
        released(store, claim);
        assertThat(heldAt(2)).isNotEmpty();
        assertThat(get(store.list(name.value(), 1))).isEmpty();
        assertThat(renewedAfter(Duration.ZERO, lost)).isEqualTo(new Renewed.Gone(Reason.EXPIRED));
        nodes.node(2).delivers();
    }

    /** The names before it, each of which only one node keeps, took its place in the lists that the nodes had to cut. */
    @Test
    void namesOfAMinorityHideNone() {
        LockName used = new LockName(name + "-z");
        granted(store, carol.mutex(used));
        for (int i = 0; i < 3; i++) {
            for (String last : List.of("-a", "-b", "-c")) {
                get(nodes.node(i).store().tryAcquire(dave.mutex(new LockName(name + last + i))));
            }
        }
        assertThat(get(store.list(name.value(), 1))).containsExactly(used);
        assertThat(get(store.list(name.value(), LockStore.MAX_LIST))).containsExactly(used);
    }

    /** Each node reads all its keys, a part at a time, which takes longer than it is waited for in a single request. */
    @Test
    void listMayTakeLongerThanARequest() {
        granted(store, carol.mutex(name));
        for (int i = 0; i < 3; i++) {
            nodes.node(i).delays("list");
        }
        CompletionStage<List<LockName>> names = store.list(name.value(), 10);
        time.run(NODE_TIMEOUT.multipliedBy(3));
        for (int i = 0; i < 3; i++) {
            nodes.node(i).delivers();
        }
        assertThat(get(names)).containsExactly(name);
    }

    /** Three such lists in a row took a node out of the rotation, so that nobody waited for it. */
    @Test
    void nodeWhoseListsAreLateIsStillWaitedFor() {
        nodes.node(1).isFrozen();
        for (int round = 0; round < Node.MISSES; round++) {
            assertThat(get(after(NODE_TIMEOUT.multipliedBy(2), store.list(name.value(), 10))))
                    .isEmpty();
        }
        get(nodes.node(0).store().tryAcquire(dave.mutex(name)));
        CompletableFuture<Attempt> attempt = store.tryAcquire(carol.mutex(name)).toCompletableFuture();
        assertThat(attempt).as("its vote decides").isNotDone();
        nodes.node(1).delivers();
        assertThat(get(after(NODE_TIMEOUT, attempt))).isInstanceOf(Granted.class);
    }

    @Test
    void listDoesNotWaitForAFrozenMinority() {
        granted(store, carol.mutex(name));
        nodes.node(1).isFrozen();
        assertThat(get(after(NODE_TIMEOUT, store.list(name.value(), 10)))).containsExactly(name);
        assertThat(get(after(NODE_TIMEOUT, store.inspect(name)))).isPresent();
    }

    @Test
    void listEndsInTimeWithoutAMajority() {
        nodes.node(1).isFrozen();
        nodes.node(2).isFrozen();
        StoreException failure = failure(after(store.traits().callTimeout(), store.list(name.value(), 10)));
        assertThat(failure.retryable()).isTrue();
        assertThat(failure).hasMessageContaining("no answer in time");
    }

    /** The node's own counter was shown, which is larger, and was never handed out. */
    @Test
    void tokenIsShownAsItWasHandedOutIfANodeGrantsLate() {
        countersDiffer();
        nodes.node(0).delays("tryAcquireAsNode");
        Granted granted = granted(store, carol.mutex(name));
        nodes.node(0).delivers();
        assertThat(heldAt(0)).isNotEmpty();
        ResourceState.Entry holder =
                get(store.inspect(name)).orElseThrow().holders().get(0);
        assertThat(holder.counter()).isEqualTo(granted.counter());
    }

    /** The node that does not know the older one showed the newer one as older than that. */
    @Test
    void holdersAreShownInTheirOrderIfANodeAnswersLate() {
        Claim older = carol.read(name);
        Claim newer = dave.read(name);
        nodes.node(2).isDown(true);
        granted(store, older);
        nodes.node(2).isDown(false);
        time.run(Duration.ofMillis(1));
        granted(store, newer);
        nodes.node(2).delays("inspect");
        CompletionStage<Optional<ResourceState>> inspection = store.inspect(name);
        time.run(Duration.ofMillis(2));
        nodes.node(2).delivers();
        assertThat(get(inspection).orElseThrow().holders())
                .extracting(entry -> entry.claim().id())
                .containsExactly(older.id(), newer.id());
    }

    /** It used to wait for the frozen node: for longer than the lease, so that the lock was lost. */
    @Test
    void renewalDoesNotWaitForAFrozenMinority() {
        Claim claim = carol.mutex(name).withLease(SHORT_LEASE);
        granted(store, claim);
        nodes.node(1).isFrozen();
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Granted.class);
    }

    @Test
    void whatAFrozenMinorityAnswersAfterTheRenewalIsNoted() {
        Claim claim = carol.mutex(name).withLease(SHORT_LEASE);
        granted(store, claim);
        nodes.node(1).isFrozen();
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Granted.class);
        nodes.node(1).delivers();
        nodes.node(0).isDown(true);
        time.run(SHORT_LEASE.dividedBy(3));
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Granted.class);
    }

    /** Without the frozen node there is no majority. Half of the lease is left, so that the engine can repeat the renewal. */
    @Test
    void renewalWaitsForNoLongerThanHalfOfTheLease() {
        Claim claim = carol.mutex(name).withLease(SHORT_LEASE);
        granted(store, claim);
        nodes.node(0).isDown(true);
        nodes.node(1).isFrozen();
        Renewed answer = renewedAfter(SHORT_LEASE.dividedBy(2), claim);
        assertThat(answer).isInstanceOf(Renewed.Failed.class);
        nodes.node(1).delivers();
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Granted.class);
    }

    /** Each kind of lease has its own limit: a short one does not make a slow node fail a long one. */
    @Test
    void longLeaseInTheSameRenewalIsWaitedForAsLongAsUsual() {
        Claim brief = carol.mutex(name).withLease(SHORT_LEASE);
        Claim longer = carol.mutex(new LockName("longer"));
        granted(store, brief);
        granted(store, longer);
        nodes.node(0).isDown(true);
        nodes.node(1).isFrozen();
        CompletableFuture<List<Renewed>> renewal =
                store.renew(List.of(longer, brief)).toCompletableFuture();
        time.run(SHORT_LEASE.dividedBy(2));
        assertThat(renewal).isNotDone();
        nodes.node(1).delivers();
        assertThat(get(renewal).get(0)).isInstanceOf(Granted.class);
        assertThat(get(renewal).get(1)).isInstanceOf(Renewed.Failed.class);
    }

    /** What is granted after the lease is over is worth nothing. */
    @Test
    void acquisitionWaitsForNoLongerThanTheLease() {
        Claim claim = carol.mutex(name).withLease(SHORT_LEASE);
        nodes.node(0).delays("tryAcquireAsNode");
        nodes.node(1).delays("tryAcquireAsNode");
        CompletableFuture<Attempt> attempt = store.tryAcquire(claim).toCompletableFuture();
        time.run(SHORT_LEASE.minusMillis(1));
        assertThat(attempt).isNotDone();
        assertThat(failure(after(Duration.ofMillis(1), attempt))).hasMessageContaining("no answer in time");
    }

    @Test
    void raiseThatArrivesAfterTheReleaseLeavesNothing() {
        countersDiffer();
        nodes.node(1).delaysRaises();
        nodes.node(2).delaysRaises();
        Claim claim = carol.mutex(name);
        CompletableFuture<Attempt> attempt = store.tryAcquire(claim).toCompletableFuture();
        CompletableFuture<Released> release = store.release(claim).toCompletableFuture();
        nodes.node(1).delivers();
        nodes.node(2).delivers();
        after(SOON, release);
        assertThat(get(attempt)).isInstanceOf(Attempt.Busy.class);
        assertThatNothingIsLeft();
    }

    @Test
    void claimWhoseFirstAttemptHasTombstonesAtAMajorityIsGranted() {
        nodes.node(1).losesReplies(true);
        nodes.node(2).losesReplies(true);
        Claim claim = carol.mutex(name);
        assertThat(failure(after(SOON, store.tryAcquire(claim))).effect()).isEqualTo(Effect.UNKNOWN);
        nodes.node(1).losesReplies(false);
        nodes.node(2).losesReplies(false);
        time.run(SOON);
        granted(store, claim.again());
    }

    @Test
    void claimThatHasAnotherIdAtTheNodesIsUsedAndBrokenAsAnyOther() {
        Claim claim = carol.write(name);
        nodes.node(1).losesReplies(true);
        nodes.node(2).losesReplies(true);
        failure(after(SOON, store.tryAcquire(claim)));
        nodes.node(1).losesReplies(false);
        nodes.node(2).losesReplies(false);
        time.run(SOON);
        long token = granted(store, claim.again()).counter();
        assertThat(heldAt(0)).extracting(Claim::id).doesNotContain(claim.id());
        assertThat(holders(store, name)).extracting(Claim::id).containsExactly(claim.id());
        assertThat(granted(store, claim.again()).counter()).isEqualTo(token);
        assertThat(granted(store, claim.withPermits(1)).counter()).isEqualTo(token);
        assertThat(renewedAfter(Duration.ZERO, claim)).isEqualTo(new Granted(token, LEASE));
        QuorumLockStore operator = closing(nodes.open(OPTIONS, delay -> task -> time.after(delay.toNanos(), task)));
        assertThat(released(operator, holders(operator, name).get(0))).isTrue();
        assertThat(renewedAfter(Duration.ZERO, claim)).isEqualTo(new Renewed.Gone(Reason.RELEASED));
        assertThatNothingIsLeft();
    }

    @Test
    void raiseThatWasRefusedLeavesNothing() {
        countersDiffer();
        nodes.node(1).refusesRaises();
        nodes.node(2).refusesRaises();
        failure(after(SOON, store.tryAcquire(carol.mutex(name))));
        nodes.node(1).refusesNothing();
        nodes.node(2).refusesNothing();
        assertThatNothingIsLeft();
    }

    @Test
    void claimThatARenewalGivesToANodeAfterItsReleaseIsReleasedThereToo() {
        nodes.node(2).isDown(true);
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodes.node(2).isDown(false);
        nodes.node(2).delays("tryAcquireAsNode");
        assertThat(renewedAfter(SOON, claim)).isInstanceOf(Granted.class);
        assertThat(get(after(SOON, store.release(claim))).wasOwner()).isTrue();
        time.run(LEASE); // as long as a tombstone lasts
        nodes.node(2).losesReplies(true);
        nodes.node(2).delivers();
        nodes.node(2).losesReplies(false);
        assertThatNothingIsLeft();
    }

    /** A downgrade arrives at a node long after the release, whose answer comes last and says that it has found the claim. */
    @Test
    void grantThatIsYoungerThanItsReleaseIsReleasedToo() {
        Claim claim = carol.write(name);
        granted(store, claim);
        nodes.node(2).delays("tryAcquireAsNode");
        granted(store, claim.withPermits(1));
        nodes.node(2).repliesLate("release");
        assertThat(released(store, claim)).isTrue();
        time.run(LEASE); // as long as a tombstone lasts
        nodes.node(2).repliesAtOnce();
        nodes.node(2).delivers();
        assertThat(heldAt(2)).isEmpty();
        assertThatNothingIsLeft();
    }

    @Test
    void renewalDoesNotReviveAClaimWhoseMajorityHasEnded() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodes.node(1).refusesRaises();
        released(nodes.node(1).store(), claim);
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Granted.class);
        nodes.node(1).refusesNothing();
        nodes.node(1).isDown(true);
        nodes.node(2).isDown(true);
        time.run(LEASE.dividedBy(2));
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Renewed.Failed.class);
        nodes.node(1).isDown(false);
        nodes.node(2).isDown(false);
        time.run(LEASE.dividedBy(2));
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Renewed.Gone.class);
        granted(store, dave.mutex(name));
    }

    @Test
    void renewalDuringWhichTheProcessWasPausedRevivesNothing() {
        nodes.node(2).isDown(true);
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodes.node(2).isDown(false);
        nodes.node(0).delays("renew");
        CompletableFuture<List<Renewed>> renewal = store.renew(List.of(claim)).toCompletableFuture();
        time.clock().advance(LEASE); // the time limits of this process do not run meanwhile
        nodes.node(0).delivers();
        assertThat(get(renewal).get(0)).isEqualTo(new Renewed.Gone(Reason.EXPIRED));
        assertThat(heldAt(2)).isEmpty();
        assertThatNothingIsLeft();
    }

    /** For a moment there was no majority, in which another client could have held and released the lock. */
    @Test
    void answerThatComesAfterTheMajorityHasEndedRevivesNothing() {
        nodes.node(2).isDown(true);
        Claim claim = carol.mutex(name);
        granted(store, claim);
        time.run(LEASE.minusMillis(100));
        nodes.node(2).isDown(false);
        nodes.node(0).isDown(true);
        nodes.node(2).delays("tryAcquireAsNode");
        CompletableFuture<List<Renewed>> renewal = store.renew(List.of(claim)).toCompletableFuture();
        time.run(Duration.ofMillis(200));
        nodes.node(2).delivers();
        nodes.node(0).isDown(false);
        assertThat(get(renewal).get(0)).isEqualTo(new Renewed.Gone(Reason.EXPIRED));
        assertThatNothingIsLeft();
    }

    /** What is left of a lease has a margin that is too small for what has passed of it. */
    @Test
    void grantThatIsRepeatedLastsNoLongerThanAFasterClockMeasures() {
        MonotonicClock fast = time.serverClock(10_000, Duration.ZERO);
        List<LockStore> stores =
                List.of(new MemoryLockStore(fast), new MemoryLockStore(fast), new MemoryLockStore(fast));
        QuorumLockStore quorum = closing(QuorumLockStore.over(
                stores, OPTIONS, time.clock(), delay -> task -> time.after(delay.toNanos(), task)));
        Claim claim = carol.mutex(name);
        granted(quorum, claim);
        Duration passed = LEASE.multipliedBy(9).dividedBy(10);
        time.run(passed);
        assertThat(granted(quorum, claim.again()).lease())
                .isLessThanOrEqualTo(LEASE.minus(passed).minus(passed.dividedBy(100)));
    }

    /** One node has lost its data, and another one is out of reach: the claim is given to it when it is back. */
    @Test
    void claimThatTooFewNodesKeepIsGivenToOthersWhileItsTimeLasts() {
        nodes.node(2).isDown(true);
        Claim claim = carol.mutex(name);
        long token = granted(store, claim).counter();
        nodes.node(1).losesItsData();
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Renewed.Failed.class);
        assertThat(failure(after(SOON, store.tryAcquire(claim.again())))).isNotNull();
        nodes.node(2).isDown(false);
        time.run(SOON);
        assertThat(renewedAfter(Duration.ZERO, claim)).isEqualTo(new Granted(token, LEASE));
        assertThat(granted(store, claim.again()).counter()).isEqualTo(token);
        released(store, claim);
        assertThatNothingIsLeft();
    }

    /** Its counter is that which it was asked to raise it to, and not the one that it has answered. */
    @Test
    void nodeWhoseRaiseWasNotAnsweredKeepsItsVote() {
        countersDiffer();
        nodes.node(1).delaysRaises();
        Claim claim = carol.write(name);
        CompletableFuture<Attempt> attempt = store.tryAcquire(claim).toCompletableFuture();
        time.run(SOON);
        assertThat(get(attempt)).isInstanceOf(Granted.class);
        nodes.node(1).losesReplies(true);
        nodes.node(1).delivers();
        nodes.node(1).losesReplies(false);
        nodes.node(2).isDown(true);
        granted(store, claim.withPermits(1));
        nodes.node(2).isDown(false);
    }

    /** It has kept its data, but nobody can tell, so that its vote ends. When it is counted again it may be needed. */
    @Test
    void nodeThatHasStartedAgainIsGivenTheClaimAfterADowngradeToo() {
        Claim claim = carol.write(name);
        granted(store, claim);
        Claim downgraded = claim.withPermits(1);
        time.run(SOON);
        nodes.node(2).startsAgain();
        granted(store, downgraded);
        for (Duration passed = Duration.ZERO;
                passed.compareTo(OPTIONS.quarantine().plus(LEASE)) < 0;
                passed = passed.plus(LEASE.dividedBy(3))) {
            time.run(LEASE.dividedBy(3));
            assertThat(renewedAfter(Duration.ZERO, downgraded)).isInstanceOf(Granted.class);
        }
        nodes.node(1).losesItsData();
        assertThat(renewedAfter(Duration.ZERO, downgraded)).isInstanceOf(Granted.class);
        released(store, downgraded);
        assertThatNothingIsLeft();
    }

    /** One node has lost its data, and the one that could take the claim instead serves another client at the moment. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void attemptOfAnotherClientEndsNoClaimWhoseDataWereLostAtOneNode(boolean shared) {
        nodes.node(2).isDown(true);
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodes.node(1).losesItsData();
        nodes.node(2).isDown(false);
        Claim attempt = shared ? dave.read(name) : dave.mutex(name);
        granted(nodes.node(1).store(), attempt);
        granted(nodes.node(2).store(), attempt);
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Renewed.Failed.class);
        released(nodes.node(1).store(), attempt);
        released(nodes.node(2).store(), attempt);
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Granted.class);
        released(store, claim);
        assertThatNothingIsLeft();
    }

    @Test
    void claimThatNoMajorityCanKeepIsLost() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodes.node(1).losesItsData();
        nodes.node(2).losesItsData();
        assertThat(renewedAfter(Duration.ZERO, claim)).isEqualTo(new Renewed.Gone(Reason.EXPIRED));
        assertThat(heldAt(0)).isEmpty();
        assertThatNothingIsLeft();
    }

    /** The break has not reached node 0 yet, and node 2 has never kept the claim. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void breakIsReportedAtOnceWhateverHoldsTheNameAfterwards(boolean shared) {
        nodes.node(2).isDown(true);
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodes.node(2).isDown(false);
        QuorumLockStore operator = closing(nodes.open(OPTIONS, delay -> task -> time.after(delay.toNanos(), task)));
        nodes.node(0).delays("release");
        operator.release(claim);
        Claim next = shared ? dave.read(name) : dave.mutex(name);
        granted(operator, next);
        assertThat(renewedAfter(Duration.ZERO, claim)).isEqualTo(new Renewed.Gone(Reason.RELEASED));
        nodes.node(0).delivers();
        released(operator, next);
        assertThatNothingIsLeft();
    }

    @Test
    void releaseThatNodesHaveRefusedIsSentAgainWhenItIsRepeated() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        QuorumLockStore operator = closing(nodes.open(OPTIONS, delay -> task -> time.after(delay.toNanos(), task)));
        nodes.node(1).forbids("release");
        nodes.node(2).forbids("release");
        for (QuorumLockStore releasing : List.of(operator, store)) {
            StoreException failure = failure(after(SOON, releasing.release(claim)));
            assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
            assertThat(failure).hasMessageContaining("no permission");
        }
        nodes.node(1).refusesNothing();
        nodes.node(2).refusesNothing();
        assertThat(get(after(SOON, operator.release(claim.again()))).wasOwner()).isTrue();
        assertThatNothingIsLeft();
    }

    @Test
    void ownReleaseThatNodesHaveRefusedIsSentAgainWhenItIsRepeated() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodes.node(1).forbids("release");
        nodes.node(2).forbids("release");
        failure(after(SOON, store.release(claim)));
        nodes.node(1).refusesNothing();
        nodes.node(2).refusesNothing();
        assertThat(get(after(SOON, store.release(claim.again()))).wasOwner()).isTrue();
        assertThatNothingIsLeft();
    }

    /** The tombstones of the first break are over, and its client has taken the lock back. */
    @Test
    void breakThatIsRepeatedAsksAllNodesAgain() {
        Claim claim = carol.mutex(name).withLease(OPTIONS.maxLease().dividedBy(2));
        QuorumLockStore operator = closing(nodes.open(OPTIONS, delay -> task -> time.after(delay.toNanos(), task)));
        granted(store, claim);
        assertThat(released(operator, claim.again())).isTrue();
        time.run(claim.lease());
        granted(nodes.node(0).store(), claim);
        granted(nodes.node(1).store(), claim);
        assertThat(released(operator, claim.again())).isTrue();
        assertThatNothingIsLeft();
    }

    /** Or a release that arrives late would end a grant of the same id. */
    @Test
    void idIsNotForgottenWhileARepeatedReleaseIsOwed() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodes.node(2).forbids("release");
        released(store, claim);
        time.run(SOON);
        nodes.node(2).isDown(true);
        released(store, claim.again());
        time.run(OPTIONS.maxLease().multipliedBy(2));
        granted(store, claim);
        assertThat(heldAt(0)).extracting(Claim::id).doesNotContain(claim.id());
        nodes.node(2).refusesNothing();
        nodes.node(2).isDown(false);
    }

    @Test
    void outcomeOfABreakThatAMajorityHasNotConfirmedIsUnknown() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        released(nodes.node(1).store(), claim);
        nodes.node(2).isDown(true);
        QuorumLockStore operator = closing(nodes.open(OPTIONS, delay -> task -> time.after(delay.toNanos(), task)));
        StoreException failure = failure(after(SOON, operator.release(claim.again())));
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        nodes.node(2).isDown(false);
    }

    /** What a majority refuses is refused, whatever a node does that has not answered yet. */
    @Test
    void downgradeThatHasNotReachedANodeReachesItWithTheNextRenewal() {
        Claim claim = carol.write(name);
        granted(store, claim);
        nodes.node(2).refuses("tryAcquireAsNode");
        granted(store, claim.withPermits(1));
        nodes.node(2).refusesNothing();
        assertThat(renewedAfter(Duration.ZERO, claim.withPermits(1))).isInstanceOf(Granted.class);
        nodes.node(0).isDown(true);
        granted(store, dave.read(name));
        nodes.node(0).isDown(false);
    }

    @Test
    void growthThatAMajorityRefusesHasNoEffect() {
        Claim claim = carol.read(name);
        granted(store, claim);
        nodes.node(2).delays("tryAcquireAsNode");
        StoreException failure = failure(after(SOON, store.tryAcquire(claim.withPermits(2))));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isFalse();
        nodes.node(2).delivers();
    }

    @Test
    void breakThatReachedAMinorityIsNotUndone() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        released(nodes.node(0).store(), claim);
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Granted.class);
        assertThat(heldAt(0)).isEmpty();
        released(nodes.node(1).store(), claim.again());
        assertThat(renewedAfter(Duration.ZERO, claim)).isEqualTo(new Renewed.Gone(Reason.RELEASED));
        assertThatNothingIsLeft();
    }

    /** Node 2 has granted, but is not counted; so the renewal does not know that the lock was broken there, too. */
    @Test
    void brokenLockIsNotTakenBackAtANodeWhoseAnswerWasLost() {
        nodes.node(2).losesReplies(true);
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodes.node(2).losesReplies(false);
        QuorumLockStore operator = closing(nodes.open(OPTIONS, delay -> task -> time.after(delay.toNanos(), task)));
        nodes.node(0).delays("release");
        assertThat(released(operator, holders(operator, name).get(0))).isTrue();
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Renewed.Gone.class);
        nodes.node(0).delivers();
        assertThatNothingIsLeft();
    }

    @Test
    void brokenLockIsNotTakenBackByARepeatedAcquisition() {
        Claim claim = carol.write(name);
        granted(store, claim);
        released(nodes.node(0).store(), claim);
        released(nodes.node(1).store(), claim);
        assertThat(get(store.tryAcquire(claim.withPermits(1)))).isInstanceOf(Attempt.Busy.class);
        assertThatNothingIsLeft();
    }

    @Test
    void nodeThatIsSlowToTakeAClaimIsNotOneThatDoesNotKeepIt() {
        nodes.node(2).isDown(true);
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodes.node(2).isDown(false);
        nodes.node(2).delays("tryAcquireAsNode");
        released(nodes.node(1).store(), claim);
        nodes.node(1).refusesRaises();
        assertThat(renewedAfter(SOON, claim)).isInstanceOf(Renewed.Failed.class);
        nodes.node(2).delivers();
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Granted.class);
    }

    @Test
    void manyReleasesAreOwedToANodeThatAnswersAtOnceAndThoseThatAreDroppedCanBeRepeated() {
        LockStore third = nodes.node(2).store();
        nodes.node(2).refuses("release");
        Claim first = carol.mutex(name);
        granted(store, first);
        released(store, first);
        for (int i = 0; i < OwedReleases.MAX; i++) {
            Claim claim = carol.mutex(new LockName(name + "-" + i));
            granted(store, claim);
            released(store, claim);
        }
        assertThat(get(third.list(name + "-", LockStore.MAX_LIST))).hasSize(OwedReleases.MAX);
        nodes.node(2).refusesNothing();
        time.run(SOON);
        assertThat(get(third.list(name.value(), LockStore.MAX_LIST))).containsExactly(name);
        released(store, first.again());
        assertThat(heldAt(2)).isEmpty();
        time.run(OPTIONS.maxLease().plus(SOON));
        assertThat(store.remembered()).isZero();
    }

    /** The answer to a first request says busy, and comes after that to a second one, which was granted. */
    @Test
    void answerThatWasOvertakenDoesNotHideAGrant() {
        Claim other = dave.write(name);
        LockStore third = nodes.node(2).store();
        granted(third, other);
        nodes.node(2).repliesLate("tryAcquireAsNode");
        Claim claim = carol.write(name);
        granted(store, claim);
        nodes.node(2).repliesAtOnce();
        released(third, other);
        granted(store, claim.withPermits(1));
        assertThat(heldAt(2)).hasSize(1);
        nodes.node(2).delivers();
        assertThat(released(store, claim)).isTrue();
        assertThatNothingIsLeft();
    }

    @Test
    void conflictAtAMinorityIsNoConflict() {
        granted(nodes.node(0).store(), dave.read(name));
        granted(nodes.node(1).store(), dave.mutex(name));
        granted(nodes.node(2).store(), dave.mutex(name));
        assertThat(get(store.tryAcquire(carol.mutex(name)))).isInstanceOf(Attempt.Busy.class);
    }

    @Test
    void attemptDoesNotWaitForANodeThatDecidesNothing() {
        granted(nodes.node(0).store(), dave.read(name));
        granted(nodes.node(1).store(), dave.mutex(name));
        nodes.node(2).delays("tryAcquireAsNode");
        assertThat(get(after(Duration.ZERO, store.tryAcquire(carol.mutex(name)))))
                .isInstanceOf(Attempt.Busy.class);
    }

    /** One node has the lock for another client and one is free, so that the third one decides. */
    @Test
    void frozenNodeCostsItsTimeLimitAFewTimesAndNothingThen() {
        granted(nodes.node(0).store(), dave.mutex(name));
        nodes.node(2).isFrozen();
        int waits = 0;
        CompletionStage<Attempt> attempt = store.tryAcquire(carol.mutex(name));
        while (!attempt.toCompletableFuture().isDone()) {
            assertThat(++waits).as("attempts that waited").isLessThanOrEqualTo(Node.MISSES);
            // Its acquisition is waited for, and then its release.
            assertThat(get(after(NODE_TIMEOUT.multipliedBy(2), attempt))).isInstanceOf(Attempt.Busy.class);
            attempt = store.tryAcquire(carol.mutex(name));
        }
        assertThat(waits).as("attempts that waited").isPositive();
        assertThat(get(attempt)).isInstanceOf(Attempt.Busy.class);
    }

    /** No caller asks the node, so it is back by what is asked in the background only. */
    @Test
    void nodeThatHasLeftTheRotationIsAskedInTheBackground() {
        granted(nodes.node(0).store(), dave.mutex(name));
        nodes.node(2).isDown(true);
        for (int i = 0; i < Node.MISSES; i++) {
            busy(store, carol.mutex(name));
        }
        nodes.node(2).isDown(false);
        busy(store, carol.mutex(name));
        time.run(Node.PROBE_EVERY);
        granted(store, carol.mutex(name));
    }

    @Test
    void errorOfAnAcquisitionSaysWhatEachNodeAnswered() {
        nodes.node(1).isDown(true);
        nodes.node(2).isFrozen();
        StoreException failure = failure(after(NODE_TIMEOUT.multipliedBy(2), store.tryAcquire(carol.mutex(name))));
        assertThat(failure)
                .hasMessageContaining(name.value())
                .hasMessageMatching(".*: granted; .*: the node is down; .*: no answer in time");
    }

    /** A node whose calls keep their threads until it goes on. */
    private static final class FrozenNode extends ForwardingStore {

        private final CountDownLatch goesOn = new CountDownLatch(1);
        private final Set<LockName> asked = ConcurrentHashMap.newKeySet();
        private final Set<LockName> released = ConcurrentHashMap.newKeySet();

        private FrozenNode(LockStore node) {
            super(node);
        }

        @Override
        public StoreTraits traits() {
            return super.traits().withNode(NodeRole.BLOCKING);
        }

        @Override
        public CompletionStage<NodeAttempt> tryAcquireAsNode(Claim claim, long counter, boolean raise) {
            if (!claim.name().value().startsWith("test")) {
                return super.tryAcquireAsNode(claim, counter, raise);
            }
            asked.add(claim.name());
            try {
                goesOn.await();
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
            return super.tryAcquireAsNode(claim, counter, raise);
        }

        @Override
        public CompletionStage<Released> release(Claim claim) {
            released.add(claim.name());
            return super.release(claim);
        }
    }

    @Test
    void acquisitionThatIsNotSentIsNotReleasedThereEither() {
        FrozenNode frozen = new FrozenNode(nodes.node(2).store());
        List<LockStore> stores =
                List.of(frozen, nodes.node(0).store(), nodes.node(1).store());
        QuorumLockStore quorum = closing(QuorumLockStore.over(
                stores, OPTIONS, time.clock(), delay -> task -> time.after(delay.toNanos(), task)));
        List<Claim> early = new ArrayList<>();
        for (int i = 0; i < Node.CALLS_AT_ONCE; i++) {
            early.add(carol.mutex(new LockName(name + "-early-" + i)));
            granted(quorum, early.get(i));
        }
        awaitUntil(() -> frozen.asked.size() == Node.CALLS_AT_ONCE);
        granted(nodes.node(0).store(), dave.mutex(name));
        granted(nodes.node(1).store(), dave.mutex(name));
        busy(quorum, carol.mutex(name));
        time.run(NODE_TIMEOUT);
        early.forEach(quorum::release);
        frozen.goesOn.countDown(); // now it is sent what is owed to it, in the order of the releases
        awaitUntil(() -> early.stream().allMatch(claim -> frozen.released.contains(claim.name())));
        assertThat(frozen.released).doesNotContain(name);
    }

    @Test
    void acquisitionsThatWaitForAThreadBeyondTheirTimeLimitAreNotSent() {
        FrozenNode frozen = new FrozenNode(nodes.node(2).store());
        List<LockStore> stores = List.of(nodes.node(0).store(), nodes.node(1).store(), frozen);
        QuorumLockStore quorum = closing(QuorumLockStore.over(
                stores, OPTIONS, time.clock(), delay -> task -> time.after(delay.toNanos(), task)));
        for (int i = 0; i < 3 * Node.CALLS_AT_ONCE; i++) {
            granted(quorum, carol.mutex(new LockName(name + "-early-" + i)));
        }
        awaitUntil(() -> frozen.asked.size() == Node.CALLS_AT_ONCE);
        time.run(NODE_TIMEOUT);
        frozen.goesOn.countDown();
        LockName late = new LockName(name + "-late");
        awaitUntil(() -> {
            Claim claim = carol.mutex(late);
            granted(quorum, claim);
            released(quorum, claim);
            return frozen.asked.contains(late);
        });
        assertThat(frozen.asked).hasSize(Node.CALLS_AT_ONCE + 1);
    }

    /** The timer of a list kept the nodes of a client that had been closed for as long as a majority is waited for. */
    @Test
    void nodesOfAClosedQuorumAreGarbageAlthoughItsTimersAreStillDue() {
        WeakReference<LockStore> node = nodeOfAClosedQuorum();
        System.gc();
        assertThat(node.get()).as("a node of the closed quorum").isNull();
        time.run(SOON);
    }

    private WeakReference<LockStore> nodeOfAClosedQuorum() {
        List<LockStore> stores = List.of(
                nodes.node(0).handle(), nodes.node(1).handle(), nodes.node(2).handle());
        try (QuorumLockStore closed = QuorumLockStore.over(
                stores, OPTIONS, time.clock(), delay -> task -> time.after(delay.toNanos(), task))) {
            assertThat(get(closed.list("", 10))).isEmpty();
            assertThat(get(closed.inspect(name))).isEmpty();
        }
        return new WeakReference<>(stores.get(0));
    }
}
