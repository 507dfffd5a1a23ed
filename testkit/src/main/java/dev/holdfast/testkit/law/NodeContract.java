package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits.NodeRole;
import org.junit.jupiter.api.Test;

/** What {@link LockStore#tryAcquireAsNode} promises. */
abstract class NodeContract extends InspectionContract {

    private static final long TOLERANCE = NodeAttempt.CLOCK_TOLERANCE.toNanos() / 1_000;

    /** More than clocks of one machine differ, and more than a test takes. */
    private static final long FAR = 3_600_000_000L;

    private static final int TRIES = 5;

    private void assumeNode() {
        assumeTrue(traits().node() != NodeRole.NONE, "the store cannot be a node of a quorum");
    }

    private NodeAttempt asNode(Claim claim, long counter, boolean raise) {
        return get(store().tryAcquireAsNode(claim, counter, raise));
    }

    private long counterAsNode(Claim claim, long counter, boolean raise) {
        Attempt attempt = asNode(claim, counter, raise).attempt();
        assertThat(attempt).as("acquiring %s as a node", claim).isInstanceOf(Granted.class);
        return ((Granted) attempt).counter();
    }

    /** The time by which the store judges counters, as far as a node's answer shows it. */
    private long storeTime() {
        Claim claim = alice.mutex(name());
        long lowest = counterAsNode(claim, 1, false);
        released(claim);
        return lowest + TOLERANCE;
    }

    @Test
    public final void storeThatIsNoNodeSaysSo() {
        assumeTrue(traits().node() == NodeRole.NONE, "the store can be a node of a quorum");
        assertThatThrownBy(() -> store().tryAcquireAsNode(alice.mutex(name()), 1, false))
                .isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    public final void nodeTakesTheCounterThatTheCallerWouldLike() {
        assumeNode();
        for (int i = 0; ; i++) {
            long wanted = storeTime() + TOLERANCE / 2;
            long counter = counterAsNode(alice.mutex(name()), wanted, false);
            // On a machine that stands still meanwhile, the wish is too old to be granted, and the test begins anew.
            if (i == TRIES || storeTime() - TOLERANCE < wanted) {
                assertThat(counter).isEqualTo(wanted);
                return;
            }
        }
    }

    @Test
    public final void nodeBringsACounterThatIsFarFromItsTimeNearIt() {
        assumeNode();
        long time = storeTime();
        assertThat(counterAsNode(alice.mutex(name()), time + FAR, false)).isBetween(time, time + FAR / 2);
        assertThat(counterAsNode(alice.mutex(name()), time - FAR, false)).isBetween(time - FAR / 2, time + FAR / 2);
        assertThat(counterAsNode(alice.mutex(name()), 0, false)).isGreaterThan(time - FAR / 2);
    }

    @Test
    public final void nodeNeverGoesBelowItsLastCounter() {
        assumeNode();
        LockName name = name();
        Claim first = alice.mutex(name);
        long time = storeTime();
        long last = counterAsNode(first, time + FAR, true);
        released(first);
        Claim second = bob.mutex(name);
        assertThat(counterAsNode(second, time, false)).isEqualTo(last + 1);
        released(second);
        assertThat(granted(alice.mutex(name)).counter()).isGreaterThan(last + 1);
    }

    @Test
    public final void raisedCounterIsKept() {
        assumeNode();
        LockName name = name();
        Claim claim = alice.mutex(name);
        long first = counterAsNode(claim, storeTime(), false);
        long raised = first + FAR;
        assertThat(counterAsNode(claim, raised, true)).isEqualTo(raised);
        assertThat(counterAsNode(claim, first, true)).as("never lowered").isEqualTo(raised);
        assertThat(counterAsNode(claim, 1, false)).as("the same grant").isEqualTo(raised);
        assertThat(held(claim).counter()).isEqualTo(raised);
        released(claim);
        assertThat(granted(bob.mutex(name)).counter()).isEqualTo(raised + 1);
    }

    @Test
    public final void raisingACounterGrantsAtANodeThatHasNotBefore() {
        assumeNode();
        LockName name = name();
        long raised = storeTime() + FAR;
        assertThat(counterAsNode(alice.mutex(name), raised, true)).isEqualTo(raised);
        busy(bob.mutex(name));
    }

    @Test
    public final void nodeRefusesAsAnyAcquireDoes() {
        assumeNode();
        LockName name = name();
        Claim holder = alice.mutex(name);
        long counter = counterAsNode(holder, 1, false);
        assertThat(asNode(bob.mutex(name), counter + FAR, true).attempt()).isInstanceOf(Attempt.Busy.class);
        assertThat(held(holder).counter()).as("a refusal raises nothing").isEqualTo(counter);
        StoreException refusal = failure(store().tryAcquireAsNode(bob.read(name), 1, false));
        assertThat(refusal.effect()).isEqualTo(Effect.NONE);
        released(holder);
        Claim buried = bob.mutex(name);
        released(buried.again());
        assertThat(asNode(buried, 1, true).attempt()).isInstanceOf(Attempt.Busy.class);
    }

    @Test
    public final void nodeShrinksAGrantAndKeepsItsCounter() {
        assumeNode();
        LockName name = name();
        Claim write = alice.write(name);
        long counter = counterAsNode(write, 1, false);
        assertThat(counterAsNode(write.withPermits(1), counter + FAR, false)).isEqualTo(counter);
        assertThat(counterAsNode(bob.read(name), 1, false)).isGreaterThan(counter);
    }

    @Test
    public final void nodeSaysSinceWhenItKeepsItsData() {
        assumeNode();
        NodeAttempt first = asNode(alice.mutex(name()), 1, false);
        advance(brief());
        NodeAttempt second = asNode(alice.mutex(name()), 1, false);
        assertThat(second.incarnation()).isEqualTo(first.incarnation());
        assertThat(first.age().isNegative()).isFalse();
        // The clocks of store and test may differ a little.
        assertThat(second.age()).isGreaterThan(first.age().plus(brief().dividedBy(2)));
    }
}
