package dev.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.NodeRole;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** What a quorum does when messages come late, or in another order than they were sent. Time is simulated. */
class LateMessagesTest extends StoreTest {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration NODE_TIMEOUT = Duration.ofMillis(500);
    private static final QuorumOptions OPTIONS = new QuorumOptions(Duration.ofMinutes(1), NODE_TIMEOUT, true);
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
    void claimWhoseFirstAttemptIsBuriedAtAMajorityIsGranted() {
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
    void raiseThatWasRefusedLeavesNothing() {
        countersDiffer();
        nodes.node(1).refusesRaises(true);
        nodes.node(2).refusesRaises(true);
        failure(after(SOON, store.tryAcquire(carol.mutex(name))));
        nodes.node(1).refusesRaises(false);
        nodes.node(2).refusesRaises(false);
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
        nodes.node(2).losesReplies(true);
        assertThat(get(after(SOON, store.release(claim))).wasOwner()).isTrue();
        nodes.node(2).delivers();
        nodes.node(2).losesReplies(false);
        assertThatNothingIsLeft();
    }

    @Test
    void renewalDoesNotReviveAClaimWhoseMajorityHasEnded() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        nodes.node(1).refusesRaises(true);
        released(nodes.node(1).store(), claim);
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Granted.class);
        nodes.node(1).refusesRaises(false);
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
    void breakThatReachedAMinorityIsNotUndone() {
        Claim claim = carol.mutex(name);
        granted(store, claim);
        released(nodes.node(0).store(), claim);
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Granted.class);
        assertThat(heldAt(0)).isEmpty();
        released(nodes.node(1).store(), claim);
        assertThat(renewedAfter(Duration.ZERO, claim)).isEqualTo(new Renewed.Gone(Reason.RELEASED));
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
        assertThat(renewedAfter(SOON, claim)).isInstanceOf(Renewed.Failed.class);
        nodes.node(2).delivers();
        assertThat(renewedAfter(Duration.ZERO, claim)).isInstanceOf(Granted.class);
    }

    @Test
    void manyReleasesAreOwedToANodeThatAnswersAtOnce() {
        nodes.node(2).losesReplies(true);
        for (int i = 0; i < OwedReleases.MAX / 2; i++) {
            Claim claim = carol.mutex(new LockName(name + "-" + i));
            granted(store, claim);
            released(store, claim);
        }
        nodes.node(2).losesReplies(false);
        time.run(SOON);
        assertThat(store.remembered())
                .as("without those of the longest lease")
                .isLessThanOrEqualTo(OwedReleases.MAX / 2);
        time.run(OPTIONS.maxLease().plus(SOON));
        assertThat(store.remembered()).isZero();
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

    /** A node whose calls keep their threads until it goes on. */
    private static final class FrozenNode extends ForwardingStore {

        private final CountDownLatch goesOn = new CountDownLatch(1);
        private final Set<LockName> asked = ConcurrentHashMap.newKeySet();

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
}
