package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.testkit.LockStoreTck;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.FaultProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.DisplayNameGeneration;

/**
 * What the laws mean in a store that grants by sessions: it passes these tests beside the {@linkplain LockStoreTck TCK}, which skips
 * there what it says about the leases of single grants. They run in real time on a real server.
 *
 * <p>A session ends in two ways here: somebody ends it by its id, or its client falls silent and the server's clock ends it.
 */
@DisplayNameGeneration(LawNames.class)
public abstract class SessionLaws extends StoreTest {

    /** A session that does not end by itself during a test. */
    private static final Duration LONG_SESSION = Duration.ofSeconds(60);

    /** One that a test outlives. */
    private static final Duration SHORT_SESSION = Duration.ofSeconds(3);

    private static final Duration SHORT_LEASE = Duration.ofMillis(400);
    private static final Duration SLOW_MACHINE = Duration.ofSeconds(20);
    private static final long RENEW_EVERY_MILLIS = 200;
    private static final int MORE_NAMES = 9;

    /** The port of the server on this machine. */
    protected abstract int port();

    /**
     * Opens a store with a session of its own. It is closed after the test.
     *
     * @param address host and port of the server, or of a proxy before it
     * @param session how long the session lives without a sign of its client
     */
    protected abstract LockStore open(String address, Duration session);

    /**
     * Ends the session of a store from outside, by its id.
     *
     * @param claim one that belongs to the session
     */
    protected abstract void endSession(LockStore store, Claim claim);

    private LockStore open() {
        return open("127.0.0.1:" + port(), LONG_SESSION);
    }

    private static Duration since(long nanos) {
        return Duration.ofNanos(System.nanoTime() - nanos);
    }

    private static Reason gone(LockStore store, Claim claim) {
        Renewed answer = repaired(() -> renewed(store, claim));
        assertThat(answer).isInstanceOf(Renewed.Gone.class);
        return ((Renewed.Gone) answer).reason();
    }

    private static void assertNotGranted(RecordingListener listener) {
        assertThat(listener.first(RecordingListener.Event.Granted.class)).isEmpty();
    }

    /** The engine counts a lease from the sending of a request. Nobody else may hold before that time is over. */
    @Law(5)
    public final void silentHolderIsKeptForItsLeaseAndNoLongerThanItsSession() {
        FaultProxy line = closing(new FaultProxy(port()));
        LockStore silent = open(line.address(), SHORT_SESSION);
        LockStore living = open();
        Claim claim = alice.mutex(name);
        granted(silent, claim);
        long sent = System.nanoTime();
        Duration lease = ((Granted) renewed(silent, claim)).lease();
        line.silence();
        awaitGrant(enqueued(living, bob.mutex(name)));
        assertThat(since(sent)).isBetween(lease, SHORT_SESSION.plus(SLOW_MACHINE));
        line.heal();
        assertThat(gone(silent, claim)).isIn(Reason.TAKEN, Reason.EXPIRED);
    }

    /** A lease counts from the sending of its request, and the session may have been renewed since. */
    @Law(5)
    public final void noGrantIsSaidToLastLongerThanItsSession() {
        LockStore store = open();
        Claim holder = alice.mutex(name);
        long sent = System.nanoTime();
        Duration lease = granted(store, holder).lease();
        assertThat(lease).isPositive().isLessThanOrEqualTo(LONG_SESSION.plus(since(sent)));
        RecordingListener next = waiting(store, bob.mutex(name));
        sent = System.nanoTime();
        lease = ((Granted) renewed(store, holder)).lease();
        assertThat(lease).isPositive().isLessThanOrEqualTo(LONG_SESSION.plus(since(sent)));
        released(store, holder);
        assertThat(awaitGrant(next).lease())
                .isPositive()
                .isLessThanOrEqualTo(store.traits().ticketTtl());
    }

    @Law(9)
    public final void holdersHearOfTheEndOfTheirSessionWithoutAsking() {
        LockStore store = open();
        Queue<String> losses = new ConcurrentLinkedQueue<>();
        store.watchLosses((lost, id, reason) -> losses.add(id + " " + reason));
        Claim holder = alice.mutex(name);
        granted(store, holder);
        long sent = System.nanoTime();
        Duration lease = ((Granted) renewed(store, holder)).lease();
        endSession(store, holder);
        awaitUntil(() -> !losses.isEmpty(), "the holder is not notified of the end of its session");
        assertThat(since(sent)).as("it is notified before the lease ends").isLessThan(lease);
        gone(store, holder);
        assertThat(losses).containsExactly(holder.id() + " " + Reason.EXPIRED);
    }

    /**
     * The entries of a session end at once: that one waits in it shows only in that its listener is notified of its end. The
     * events of that moment may come in any order, so there are several names.
     */
    @Law(9)
    public final void entriesOfAnEndedSessionNeitherBlockNorAreGranted() {
        LockStore ending = open();
        LockStore living = open();
        Claim holder = alice.mutex(name);
        granted(ending, holder);
        List<RecordingListener> dead = new ArrayList<>(List.of(waiting(ending, alice.mutex(name))));
        for (int i = 0; i < MORE_NAMES; i++) {
            LockName another = new LockName(name + "-" + i);
            granted(ending, alice.mutex(another));
            dead.add(waiting(ending, alice.mutex(another)));
        }
        Claim next = bob.mutex(name);
        RecordingListener listener = waiting(living, next);
        endSession(ending, holder);
        awaitGrant(listener);
        assertThat(holders(living, name)).extracting(Claim::id).containsExactly(next.id());
        assertThat(get(living.inspect(name)).orElseThrow().waiters()).isEmpty();
        dead.forEach(StoreTest::awaitEnd);
        dead.forEach(SessionLaws::assertNotGranted);
    }

    @Law(7)
    public final void waiterWhoseSessionEndsLeavesNoHoleInTheQueue() {
        LockStore ending = open();
        LockStore living = open();
        Claim holder = alice.mutex(name);
        granted(living, holder);
        Claim dead = alice.mutex(name);
        RecordingListener ended = waiting(ending, dead);
        Claim second = bob.mutex(name);
        RecordingListener secondListener = waiting(living, second);
        Claim third = bob.mutex(name);
        RecordingListener thirdListener = waiting(living, third);
        endSession(ending, dead);
        awaitEnd(ended);
        assertThat(get(living.inspect(name)).orElseThrow().waiters())
                .extracting(entry -> entry.claim().id())
                .containsExactly(second.id(), third.id());
        assertNotGranted(secondListener);
        released(living, holder);
        awaitGrant(secondListener);
        assertNotGranted(thirdListener);
        released(living, second);
        awaitGrant(thirdListener);
        assertNotGranted(ended);
    }

    @Law(6)
    public final void tokensGrowOverSessions() {
        LockStore living = open();
        LockStore store = open();
        long last = 0;
        for (int session = 0; session < 3; session++) {
            Claim claim = alice.mutex(name);
            long counter = repaired(() -> granted(store, claim)).counter();
            assertThat(counter).as("the grant of session %s", session).isGreaterThan(last);
            endSession(store, claim);
            awaitUntil(() -> holders(living, name).isEmpty());
            Claim other = bob.mutex(name);
            last = granted(living, other).counter();
            assertThat(last).as("a grant of another session").isGreaterThan(counter);
            released(living, other);
        }
    }

    @Law(3)
    public final void claimOfAnEndedSessionTouchesNothing() {
        LockStore store = open();
        LockStore living = open();
        Claim dead = alice.mutex(name);
        granted(store, dead);
        endSession(store, dead);
        Claim holder = bob.mutex(name);
        awaitGrant(enqueued(living, holder));
        assertThat(gone(store, dead)).isIn(Reason.TAKEN, Reason.EXPIRED);
        assertThat(repaired(() -> released(store, dead.again()))).isFalse();
        assertThat(renewed(living, holder)).isInstanceOf(Granted.class);
        assertThat(holders(living, name)).extracting(Claim::id).containsExactly(holder.id());
    }

    @Law(12)
    public final void renewalsKeepHoldersAndWaitersBeyondTheSessionsTime() {
        LockStore store = open("127.0.0.1:" + port(), SHORT_SESSION);
        Claim holder = alice.mutex(name);
        Claim waiter = bob.mutex(name);
        long begun = System.nanoTime();
        long counter = granted(store, holder).counter();
        RecordingListener listener = waiting(store, waiter);
        while (since(begun).compareTo(SHORT_SESSION.multipliedBy(3).dividedBy(2)) < 0) {
            pause(RENEW_EVERY_MILLIS);
            List<Renewed> answers = get(store.renew(List.of(holder, waiter)));
            assertThat(answers.get(0)).isInstanceOf(Granted.class);
            assertThat(((Granted) answers.get(0)).counter()).isEqualTo(counter);
            assertThat(answers.get(1)).isInstanceOf(Renewed.Waiting.class);
        }
        busy(open(), bob.mutex(name));
        released(store, holder);
        awaitGrant(listener);
    }

    /** A lease that is shorter than the session is kept by the client: for as long as it says, and not for the session. */
    @Law(12)
    public final void leaseShorterThanTheSessionIsKeptByTheClient() {
        LockStore store = open();
        LockStore other = open();
        Claim brief = alice.mutex(name).withLease(SHORT_LEASE);
        long sent = System.nanoTime();
        Duration lease = granted(store, brief).lease();
        assertThat(lease).isPositive().isLessThanOrEqualTo(SHORT_LEASE);
        awaitGrant(enqueued(other, bob.mutex(name)));
        assertThat(since(sent)).isBetween(lease, LONG_SESSION);
        assertThat(gone(store, brief)).isEqualTo(Reason.TAKEN);
    }
}
