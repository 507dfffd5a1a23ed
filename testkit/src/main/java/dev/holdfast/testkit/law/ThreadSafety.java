package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.HistoryChecker;
import dev.holdfast.testkit.HistoryChecker.OpenHold;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.ThreadKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.IntFunction;

/** The laws while many threads use one store at once. */
public abstract class ThreadSafety extends ElectionContract {

    private static final int THREADS = 8;
    private static final int ROUNDS = 40;

    /**
     * How often a waiter asks the store, to find out about a lost push. The engine asks every third of a ticket's
     * time to live.
     */
    private static final Duration ASK_EVERY = Duration.ofMillis(250);

    /**
     * Whoever only tries is refused for as long as anybody waits, and asks less and less often, down to this: the store would be
     * kept busy by requests that all meet the same state.
     */
    private static final Duration TRY_AT_LEAST_EVERY = Duration.ofMillis(16);

    @Law(1)
    public final void manyThreadsShareAMutex() {
        LockName name = name();
        hammer(1, thread -> new Claimant("t" + thread, LONG).mutex(name));
    }

    @Law(1)
    public final void manyThreadsShareASemaphore() {
        assumeAllKinds();
        LockName name = name();
        hammer(5, thread -> new Claimant("t" + thread, LONG).claim(name, 1 + thread % 3, 5));
    }

    @Law(1)
    public final void manyThreadsShareAReadWriteLock() {
        assumeAllKinds();
        LockName name = name();
        hammer(Claim.ALL, thread -> {
            Claimant client = new Claimant("t" + thread, LONG);
            return thread % 4 == 0 ? client.write(name) : client.read(name);
        });
    }

    @Law(5)
    public final void everyListenerIsNotifiedOfExactlyOneOutcome() {
        assumeQueue();
        LockName name = name();
        ConcurrentLinkedQueue<RecordingListener> listeners = new ConcurrentLinkedQueue<>();
        List<Runnable> tasks = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Random random = new Random(Seeds.of("cancel " + i));
            tasks.add(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    Claim claim = alice.mutex(name);
                    RecordingListener listener = new RecordingListener();
                    store().enqueue(claim, listener);
                    listeners.add(listener);
                    if (random.nextBoolean()) {
                        breathe();
                    }
                    get(store().release(claim.again()));
                }
            });
        }
        ThreadKind.all().get(0).runAll(tasks);
        for (RecordingListener listener : listeners) {
            await(() -> listener.outcome().isPresent(), () -> "a listener was not notified of an outcome: " + listener);
            listener.checkContract();
        }
        assertThat(inspected(name)).isEmpty();
    }

    @Law(4)
    public final void releaseRacingItsAcquireLeavesNothing() {
        LockName name = name();
        for (int round = 0; round < ROUNDS; round++) {
            Claim claim = alice.mutex(name);
            ThreadKind.all()
                    .get(0)
                    .runAll(List.of(
                            () -> get(store().tryAcquire(claim)),
                            () -> get(store().release(claim.again())),
                            () -> get(store().tryAcquire(claim.again()))));
            assertThat(inspected(name)).isEmpty();
        }
    }

    // Every thread acquires, renews and releases its kind of claim. The history must obey the laws.
    private void hammer(int limit, IntFunction<Claim> claims) {
        for (ThreadKind kind : ThreadKind.all()) {
            HistoryChecker history = new HistoryChecker(limit);
            List<Runnable> tasks = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                int thread = i;
                Random random = new Random(Seeds.of("hammer " + thread));
                tasks.add(() -> {
                    for (int round = 0; round < ROUNDS; round++) {
                        oneRound(claims.apply(thread), history, random);
                    }
                });
            }
            kind.runAll(tasks);
            assertThat(history.size()).isEqualTo(THREADS * ROUNDS);
            if (traits().fifo()) {
                history.checkFifo();
            } else {
                history.check();
            }
            assertThat(inspected(claims.apply(0).name())).isEmpty();
        }
    }

    private void oneRound(Claim claim, HistoryChecker history, Random random) {
        long asked = System.nanoTime();
        OpenHold hold = traits().fifo() && random.nextInt(4) > 0
                ? queuedHold(claim, history, asked)
                : triedHold(claim, history, asked);
        if (random.nextInt(4) == 0) {
            hold.renewed(heldByOneOfMany(claim).counter());
        }
        if (random.nextInt(8) == 0) {
            breathe();
        }
        hold.ending();
        assertThat(released(claim)).as("%s still held", claim).isTrue();
    }

    // Whoever only tries is admitted when nobody waits, which may be not before all others are done. So time
    // counts only while none of them gets on.
    private OpenHold triedHold(Claim claim, HistoryChecker history, long asked) {
        long limit = patience().multipliedBy(6).toNanos();
        long since = System.nanoTime();
        int before = history.size();
        for (Duration pause = POLL_EVERY; ; pause = longer(pause)) {
            if (get(store().tryAcquire(claim)) instanceof Granted grant) {
                return history.acquired(
                        owner(claim), claim.permits(), grant.counter(), asked, HistoryChecker.NEVER_QUEUED);
            }
            int holds = history.size();
            since = holds == before ? since : System.nanoTime();
            before = holds;
            if (System.nanoTime() - since > limit) {
                throw new AssertionError("A claim was never admitted: " + claim);
            }
            breathe(pause);
        }
    }

    private static Duration longer(Duration pause) {
        Duration twice = pause.multipliedBy(2);
        return twice.compareTo(TRY_AT_LEAST_EVERY) < 0 ? twice : TRY_AT_LEAST_EVERY;
    }

    private OpenHold queuedHold(Claim claim, HistoryChecker history, long asked) {
        RecordingListener listener = new RecordingListener();
        try (ListenerRegistration registration = store().enqueue(claim, listener)) {
            await(listener::wasNotified, () -> "the listener was not notified about " + claim);
            long queued = System.nanoTime();
            long counter = awaitCounter(claim, listener);
            listener.checkContract();
            return history.acquired(owner(claim), claim.permits(), counter, asked, queued);
        }
    }

    private long awaitCounter(Claim claim, RecordingListener listener) {
        long start = System.nanoTime();
        long asked = start;
        while (listener.outcome().isEmpty()) {
            long now = System.nanoTime();
            if (now - start > patience().multipliedBy(6).toNanos()) {
                throw new AssertionError("A waiter was never granted: " + claim + " " + listener);
            }
            if (now - asked > ASK_EVERY.toNanos()) {
                asked = now;
                if (renewed(claim) instanceof Granted grant) {
                    return grant.counter();
                }
            }
            breathe();
        }
        long counter = awaitGrant(listener).counter();
        // Shows the store that this waiter is not frozen, as the engine does when the ticket may expire soon.
        assertThat(heldByOneOfMany(claim).counter()).isEqualTo(counter);
        return counter;
    }

    // Where many want one lock on a busy machine, a store may say that a request had no effect, as others came first
    // each time. The engine repeats it then, too.
    private Granted heldByOneOfMany(Claim claim) {
        long limit = System.nanoTime() + patience().toNanos();
        Renewed answer = renewed(claim);
        while (answer instanceof Renewed.Failed failed
                && failed.cause().effect() == Effect.NONE
                && System.nanoTime() - limit < 0) {
            breathe(TRY_AT_LEAST_EVERY);
            answer = renewed(claim);
        }
        assertThat(answer).as("renewing %s", claim).isInstanceOf(Granted.class);
        return (Granted) answer;
    }

    private static String owner(Claim claim) {
        return claim.id().toString();
    }
}
