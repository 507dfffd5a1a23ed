package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.holdfast.FenceGuard;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.jdbc.MariaDbPair.Replication;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.HistoryChecker;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * A primary and a replica of MariaDB; the primary dies while clients hold, wait and contend, and the replica is
 * promoted. {@link ReplicaTest} is for PostgreSQL.
 */
class MariaDbReplicaTest extends Servers {

    private static final Duration LONGEST_OUTAGE = Duration.ofMinutes(1);

    private final LockName name = new LockName("a");

    @Test
    void aStoreOnAReplicaSaysThatItMayNotWrite() {
        MariaDbPair pair = closing(MariaDbPair.start(Replication.ASYNCHRONOUS));
        awaitUntil(() -> isRefused(failureToOpen(pair.urlOfReplica()), "cannot be made"));
        LockStore right = repaired(() -> open(pair.url() + "&holdfast.busyTimeout=1s"));
        Claim held = alice.mutex(name);
        repaired(() -> granted(right, held.again()));
        // A replica lets this user write.
        LockStore mighty = repaired(() -> open(pair.url().replace("user=app", "user=root")));
        assertThat(repaired(() -> get(mighty.tryAcquire(bob.mutex(name))))).isInstanceOf(Attempt.Busy.class);
        pair.awaitApplied();
        LockStore wrong = repaired(() -> open(pair.urlOfReplica()));
        changesAreRefused(wrong, held);
        assertThat(repaired(() -> get(wrong.list("", 10))))
                .as("reading is allowed")
                .containsExactly(name);
        assertThat(repaired(() -> renewed(right, held))).isInstanceOf(Granted.class);
        pair.primary().run("", "SET GLOBAL read_only = ON");
        refused(() -> failure(right.release(held)));
        refused(() -> failure(right.release(held)));
        pair.primary().run("", "SET GLOBAL read_only = OFF");
        assertThat(repaired(() -> renewed(right, held))).isInstanceOf(Granted.class);
    }

    private void changesAreRefused(LockStore wrong, Claim held) {
        Claim claim = bob.mutex(new LockName("b"));
        refused(() -> failure(wrong.tryAcquire(claim)));
        refused(() -> failure(wrong.tryAcquireAll(List.of(claim, bob.mutex(new LockName("c"))))));
        refused(() -> failure(wrong.release(held)));
        refused(() -> failure(wrong.renew(List.of(held))));
        refused(() -> failure(enqueued(wrong, bob.mutex(name))));
    }

    // On a busy machine the server may not be reached, or not answer, in time: then it is asked again.
    private static void refused(Supplier<StoreException> call) {
        awaitUntil(() -> {
            StoreException failure = call.get();
            return failure.retryable() && isRefused(failure, "read-only");
        });
    }

    private static boolean isRefused(StoreException failure, String why) {
        String said = String.valueOf(failure.getMessage());
        return failure.effect() == Effect.NONE && said.contains(why) && said.contains("name the primary in the URL");
    }

    private StoreException failureToOpen(String url) {
        return catchThrowableOfType(StoreException.class, () -> open(url));
    }

    @Test
    void whatWasAnsweredIsKeptWithSemiSynchronousReplication() throws Exception {
        MariaDbPair pair = closing(MariaDbPair.start(Replication.SEMI_SYNCHRONOUS));
        LockStore store = repaired(() -> open(pair.url() + "&holdfast.ticketTtl=10m"));
        try (Contenders contenders = new Contenders(pair)) {
            contenders.awaitTurns();
            pair.fallBehind();
            Claim holder = alice.mutex(name);
            long counter = ((Granted) repaired(() -> get(store.tryAcquire(holder.again())))).counter();
            RecordingListener listener = waitingAfterRepair(store, bob.mutex(name));
            pair.failOver();
            assertThat(repaired(() -> renewed(store, holder)))
                    .isInstanceOfSatisfying(
                            Granted.class, kept -> assertThat(kept.counter()).isEqualTo(counter));
            assertThat(repaired(() -> get(store.inspect(name))).orElseThrow().waiters())
                    .hasSize(1);
            repaired(() -> get(store.release(holder.again())));
            assertThat(awaitGrant(listener).counter()).isGreaterThan(counter);
            contenders.awaitTurns();
            contenders.stop();
            contenders.history.check();
            contenders.checkSetAndTokens();
        }
    }

    /** Asynchronous replication can lose a grant: then its holder is notified, and tokens grow nevertheless. */
    @Test
    void whatTheReplicaDidNotReceiveWasNeverGranted() throws Exception {
        MariaDbPair pair = closing(MariaDbPair.start(Replication.ASYNCHRONOUS));
        try (Contenders contenders = new Contenders(pair)) {
            contenders.awaitTurns();
            pair.cutReplication();
            contenders.awaitTurns();
            Holdfast locks = contenders.clients.get(0);
            Lease lost = acquired(locks);
            AtomicReference<LossReason> why = new AtomicReference<>();
            lost.onLost(why::set);
            pair.failOver();
            awaitUntil(() -> why.get() != null);
            assertThat(lost.isValid()).isFalse();
            assertThat(acquired(locks).token()).isGreaterThan(lost.token());
            contenders.awaitTurns();
            contenders.stop();
            contenders.checkSetAndTokens();
        }
    }

    /** The commit of a session that was killed, or whose server has crashed, is done at the primary, for all to read. */
    @Test
    void whatTheReplicaLacksIsNotBelievedWhenItIsRead() {
        MariaDbPair pair = closing(MariaDbPair.start(Replication.SEMI_SYNCHRONOUS));
        LockStore store = repaired(() -> open(pair.url()));
        LockStore elsewhere = repaired(() -> open(pair.url()));
        Claim holder = alice.mutex(new LockName("handed over"));
        repaired(() -> granted(store, holder.again()));
        RecordingListener listener = waitingAfterRepair(elsewhere, bob.mutex(holder.name()));
        pair.cutReplication();
        assertUnknown(endingWaits(pair, "CONNECTION", () -> store.release(holder)));
        awaitUntil(() -> listener.outcome().isPresent() || pair.waiting() > 0);
        assertThat(listener.outcome()).as("the replica does not know of it").isEmpty();
        pair.goOnReplicating();
        awaitGrant(listener);
        pair.cutReplication();
        Claim claim = alice.mutex(name).again();
        assertUnknown(endingWaits(pair, "CONNECTION", () -> store.tryAcquire(claim)));
        // Now the row has it.
        assertUnknown(endingWaits(pair, "CONNECTION", () -> store.tryAcquire(claim)));
        assertUnknown(endingWaits(pair, "CONNECTION", () -> store.tryAcquireAll(List.of(claim))));
        pair.crashPrimary();
        assertUnknown(endingWaits(pair, "CONNECTION", () -> store.tryAcquire(claim)));
        pair.failOver();
        assertThat(repaired(() -> get(elsewhere.tryAcquire(bob.mutex(name).again()))))
                .isInstanceOf(Granted.class);
    }

    /** The replica has all that was committed before. Before, there was one commit for each name, one after the other. */
    @Test
    void oneCommitConfirmsGrantsOfSeveralNames() {
        MariaDbPair pair = closing(MariaDbPair.start(Replication.SEMI_SYNCHRONOUS));
        LockStore store = repaired(() -> open(pair.url()));
        List<Claim> several = Stream.of("a", "b", "c")
                .map(each -> alice.mutex(new LockName(each)).again())
                .toList();
        repaired(() -> get(store.tryAcquireAll(several)));
        int before = pair.acknowledged();
        assertThat(get(store.tryAcquireAll(several))).hasSize(3);
        assertThat(pair.acknowledged() - before).isEqualTo(1);
    }

    @Test
    void waiterDoesNotBelieveInAGrantThatAllCanReadBeforeTheReplicaHasIt() {
        MariaDbPair pair = closing(MariaDbPair.start(Replication.SEMI_SYNCHRONOUS));
        pair.waitAfterCommit();
        LockStore store = repaired(() -> open(pair.url()));
        LockStore elsewhere = repaired(() -> open(pair.url()));
        Claim holder = alice.mutex(name);
        repaired(() -> granted(store, holder.again()));
        RecordingListener listener = waitingAfterRepair(elsewhere, bob.mutex(name));
        pair.cutReplication();
        called(() -> store.release(holder));
        awaitUntil(() -> listener.outcome().isPresent() || pair.waiting() > 1);
        assertThat(listener.outcome()).as("the replica does not know of it").isEmpty();
        pair.goOnReplicating();
        awaitGrant(listener);
    }

    /** MariaDB reports a success, without a warning, as mariadb.md says. If that changes, the page is to be changed. */
    @Test
    void grantIsBelievedIfItsWaitForTheReplicaWasEndedByKillQuery() {
        MariaDbPair pair = closing(MariaDbPair.start(Replication.SEMI_SYNCHRONOUS));
        LockStore store = repaired(() -> open(pair.url()));
        pair.cutReplication();
        CompletableFuture<Attempt> tried = endingWaits(pair, "QUERY", () -> store.tryAcquire(alice.mutex(name)));
        assertThat(get(tried)).isInstanceOf(Granted.class);
        pair.failOver();
        assertThat(repaired(() -> get(store.tryAcquire(bob.mutex(name).again()))))
                .as("two hold by now")
                .isInstanceOf(Granted.class);
    }

    private static void assertUnknown(CompletionStage<?> call) {
        assertThat(failure(call).effect()).isEqualTo(Effect.UNKNOWN);
    }

    private static <T> CompletableFuture<T> endingWaits(
            MariaDbPair pair, String what, Supplier<CompletionStage<T>> call) {
        CompletableFuture<T> answer = called(call);
        awaitUntil(() -> {
            pair.killWaiting(what);
            return answer.isDone();
        });
        return answer;
    }

    // The thread that makes a call may be the one that waits for its answer.
    private static <T> CompletableFuture<T> called(Supplier<CompletionStage<T>> call) {
        return CompletableFuture.supplyAsync(call).thenCompose(stage -> stage);
    }

    private static Lease acquired(Holdfast locks) throws Exception {
        return repeated(() -> locks.lock("lost", Contenders.OPTIONS).acquire(Duration.ofSeconds(60)));
    }

    /** Repeats what fails because no server is there, or the machine is too busy, for as long as other calls are. */
    private static <T> T repeated(Callable<T> call) throws Exception {
        long end = System.nanoTime() + LONGEST_OUTAGE.toNanos();
        while (true) {
            try {
                return call.call();
            } catch (StoreUnavailableException isAway) {
                if (System.nanoTime() - end > 0) {
                    throw isAway;
                }
            }
        }
    }

    /** Threads of two clients, which find the primary by different URLs, and add to one set under one lock. */
    private static final class Contenders implements AutoCloseable {

        static final LockOptions OPTIONS = LockOptions.defaults().withLease(Duration.ofSeconds(2));

        private static final int THREADS = 3;
        private static final int TURNS = 5;

        final HistoryChecker history = new HistoryChecker(1);
        final List<Holdfast> clients = new ArrayList<>();

        private final GuardedNumber set = new GuardedNumber();
        private final ExecutorService threads;
        private final List<Future<?>> tasks = new ArrayList<>();
        private final AtomicIntegerArray turns;
        private volatile boolean over;

        Contenders(MariaDbPair pair) throws Exception {
            List<String> urls = List.of(pair.url(), pair.sequentialUrl());
            threads = Executors.newFixedThreadPool(urls.size() * THREADS);
            turns = new AtomicIntegerArray(urls.size() * THREADS);
            for (String url : urls) {
                Holdfast client = repeated(() -> Holdfast.connect(url));
                clients.add(client);
                for (int i = 0; i < THREADS; i++) {
                    int number = tasks.size();
                    tasks.add(threads.submit(() -> work(client, number)));
                }
            }
        }

        /** Waits until each of them has had some turns. */
        void awaitTurns() {
            for (int i = 0; i < turns.length(); i++) {
                int number = i;
                int before = turns.get(i);
                awaitUntil(() -> tasks.get(number).isDone() || turns.get(number) >= before + TURNS);
            }
        }

        private void work(Holdfast client, int number) {
            while (!over) {
                long asked = System.nanoTime();
                try (Lease lease = client.lock("set", OPTIONS).acquire()) {
                    add(lease, asked, "thread " + number);
                    turns.incrementAndGet(number);
                } catch (StoreUnavailableException | LockLostException serverIsAway) {
                    continue;
                } catch (InterruptedException end) {
                    return;
                }
            }
        }

        private void add(Lease lease, long asked, String who) {
            long token = lease.token();
            long from = System.nanoTime();
            Integer read = set.read(token);
            Thread.yield();
            if (read != null) {
                set.write(token, read + 1);
            }
            // The time is read before the look at the lease: it was held then.
            long now = System.nanoTime();
            long to = lease.isValid() ? now : from;
            history.add(new HistoryChecker.Hold(who, 1, token, asked, HistoryChecker.NEVER_QUEUED, from, to));
        }

        void stop() throws Exception {
            over = true;
            for (Future<?> task : tasks) {
                task.get(60, TimeUnit.SECONDS);
            }
        }

        void checkSetAndTokens() {
            history.checkTokensInTime();
            assertThat(set.value).as("additions that are there").isEqualTo(set.writes);
        }

        @Override
        public void close() {
            over = true;
            threads.shutdownNow();
            clients.forEach(Holdfast::close);
        }
    }

    /** What the lock guards: its holder reads the number, and then writes one more. It refuses stale tokens. */
    private static final class GuardedNumber {

        private final FenceGuard fence = new FenceGuard();
        private int value;
        private int writes;

        synchronized Integer read(long token) {
            return fence.admits("set", token) ? value : null;
        }

        synchronized void write(long token, int newValue) {
            if (fence.admits("set", token)) {
                value = newValue;
                writes++;
            }
        }
    }
}
