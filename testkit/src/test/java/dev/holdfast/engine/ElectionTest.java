package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.election.Candidate;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.Term;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tests of elections: terms, callbacks, the end of a candidate, and what others see. */
class ElectionTest extends EngineFixture {

    private static final Duration STEP = Duration.ofMillis(100);

    private Standing standing(Holdfast client, String id) {
        return new Standing(client, "billing", id);
    }

    private void awaitLeads(Standing one) {
        clock.advanceUntil("it leads", STEP, () -> one.leads() && one.has("elected"));
    }

    // ---- terms ----

    @Test
    void theFirstLeadsAndWhoResignsGoesToTheBack() {
        Standing first = standing(locks, "first").start();
        awaitLeads(first);
        Standing second = standing(rival, "second").start();
        awaitWaiters("billing", 1);
        Standing third = standing(locks, "third").start();
        awaitWaiters("billing", 2);
        assertThat(ids(first)).containsExactly("first", "second", "third");
        assertThat(first.election.leader().orElseThrow().token())
                .isEqualTo(first.lastTerm().token());

        first.election.resign();
        assertThat(first.leads()).isFalse();
        awaitLeads(second);
        awaitWaiters("billing", 2);
        assertThat(ids(first)).containsExactly("second", "third", "first");
        assertThat(first.events).containsExactly("elected", "RESIGNED");
        assertThat(second.lastTerm().token()).isGreaterThan(first.lastTerm().token());
        assertThat(first.lastTerm().isValid()).isFalse();
        assertThat(first.lastTerm().remaining()).isZero();
    }

    private static List<String> ids(Standing one) {
        return one.election.candidates().stream().map(Candidate::id).toList();
    }

    @Test
    void aLeaderThatIsCutOffEndsItsTermBeforeAnybodyElseBegins() {
        Standing first = standing(locks, "first").start();
        awaitLeads(first);
        Standing second = standing(rival, "second").start();
        awaitWaiters("billing", 1);
        network.partition();
        clock.advanceUntil("the other leads", STEP, () -> {
            assertNotBoth(first, second);
            return second.has("elected");
        });
        clock.advanceUntil("the loss was reported", STEP, () -> first.events.contains("STORE_UNREACHABLE"));
        assertThat(second.lastTerm().token()).isGreaterThan(first.lastTerm().token());
    }

    // A term that has ended is over for good, so that one which is valid before and after another one was beside it.
    private static void assertNotBoth(Standing one, Standing other) {
        Optional<Term> term = one.election.term();
        boolean both = term.isPresent() && other.leads() && term.get().isValid();
        assertThat(both).as("two leaders at once").isFalse();
    }

    @Test
    void aLeaderStaysElectedWhileItsRenewalIsOverdue() {
        Standing one = standing(locks, "one").start();
        awaitLeads(one);
        network.partition();
        pass(Standing.LEASE.minusSeconds(2));
        assertThat(one.leads()).isTrue();
        network.heal();
        pass(Standing.LEASE);
        assertThat(one.leads()).isTrue();
        assertThat(one.events).containsExactly("elected");
    }

    @Test
    void aLossIsFinalThoughTheStoreHangsAndTheNextTermHasALargerToken() {
        Standing one = standing(locks, "one").start();
        awaitLeads(one);
        Term lost = one.lastTerm();
        network.next(Verb.RENEW, Collections.nCopies(50, Fault.HANG).toArray(Fault[]::new));
        pass(Standing.LEASE.minusSeconds(1));
        assertThat(one.leads()).isTrue();
        clock.advance(Duration.ofSeconds(1));
        // The next term may begin before this thread looks, so it is the term that is looked at.
        assertThat(lost.isValid()).as("by the local clock, at once").isFalse();
        clock.advanceUntil("it leads again", STEP, () -> one.terms.size() == 2 && one.has("elected") && one.leads());
        assertThat(lost.isValid()).isFalse();
        assertThat(one.lastTerm().token()).isGreaterThan(lost.token());
        assertThat(one.events).containsExactly("elected", "STORE_UNREACHABLE", "elected");
    }

    @Test
    void aTermThatWasBrokenEndsAndTheCandidateJoinsAgain() {
        Standing one = standing(locks, "one").start();
        awaitLeads(one);
        assertThat(rival.lock("billing").forceRelease()).isOne();
        clock.advanceUntil("it leads again", STEP, () -> one.terms.size() == 2 && one.has("elected") && one.leads());
        assertThat(one.events).containsExactly("elected", "BROKEN", "elected");
    }

    @Test
    void aMutexOfTheNameAndALeaderExcludeEachOther() throws InterruptedException {
        Lease lease = rival.lock("billing").acquire();
        Standing one = standing(locks, "one").start();
        awaitWaiters("billing", 1);
        assertThat(one.leads()).isFalse();
        lease.release();
        awaitLeads(one);
        assertThat(rival.lock("billing").tryAcquire()).isEmpty();
    }

    @Test
    void candidatesOfOneClientTakeTurnsInAStoreWithoutAQueue() {
        Holdfast client = client(new NoQueueStore(memory));
        Standing one = standing(client, "one").start();
        awaitLeads(one);
        Standing other = standing(client, "other").start();
        pass(Duration.ofSeconds(1));
        assertThat(other.leads()).isFalse();
        one.election.close();
        awaitLeads(other);
        // Each term is a grant of its own, whose token others can see.
        assertThat(other.election.leader().orElseThrow().token())
                .isEqualTo(other.lastTerm().token());
        assertThat(other.lastTerm().token()).isGreaterThan(one.lastTerm().token());
    }

    @Test
    void whoResignsLetsAnotherClientLeadInAStoreWithoutAQueue() {
        Standing one = standing(client(new NoQueueStore(memory)), "one").start();
        awaitLeads(one);
        Standing other = standing(client(new NoQueueStore(memory)), "other").start();
        pass(Duration.ofSeconds(1));
        one.election.resign();
        clock.advanceUntil("somebody leads", STEP, () -> one.leads() || other.leads());
        assertThat(other.leads()).isTrue();
    }

    // ---- callbacks ----

    @Test
    void theNextTermWaitsUntilTheListenerOfTheLossHasReturned() {
        CountDownLatch mayReturn = new CountDownLatch(1);
        CountDownLatch called = new CountDownLatch(1);
        Standing one = standing(locks, "one");
        one.election.onLost(reason -> {
            called.countDown();
            awaitUninterruptibly(mayReturn);
            one.events.add("returned");
        });
        one.start();
        awaitLeads(one);
        rival.lock("billing").forceRelease();
        clock.advanceUntil("the listener works", STEP, () -> called.getCount() == 0);
        pass(Standing.LEASE);
        assertThat(isUnused("billing")).as("it does not stand again yet").isTrue();
        mayReturn.countDown();
        awaitLeads(one);
        assertThat(one.events).containsExactly("elected", "BROKEN", "returned", "elected");
    }

    @Test
    void whoResignsHoldsTheLockUntilTheListenerHasReturnedButOneLeaseAtMost() {
        CountDownLatch never = new CountDownLatch(1);
        Standing one = standing(locks, "one");
        one.election.onLost(reason -> awaitUninterruptibly(never));
        one.start();
        awaitLeads(one);
        Standing other = standing(rival, "other").start();
        awaitWaiters("billing", 1);
        one.election.resign();
        pass(Standing.LEASE.minusSeconds(1));
        assertThat(other.leads()).isFalse();
        assertThat(one.leads()).isFalse();
        pass(Duration.ofSeconds(2));
        awaitLeads(other);
        never.countDown();
    }

    @Test
    void whatListenersThrowHarmsNoOtherAndNoTerm() {
        AtomicBoolean throwsUp = new AtomicBoolean(true);
        Election election = locks.election("billing");
        List<String> events = new CopyOnWriteArrayList<>();
        election.onElected(term -> {
            Thread.currentThread().setUncaughtExceptionHandler((thread, expected) -> {});
            throw new IllegalStateException("a listener's own failure");
        });
        election.onElected(term -> events.add("elected"));
        election.onLost(reason -> {
            if (throwsUp.getAndSet(false)) {
                Thread.currentThread().setUncaughtExceptionHandler((thread, expected) -> {});
                throw new StackOverflowError("a listener's own error");
            }
        });
        election.onLost(reason -> events.add(reason.toString()));
        election.start();
        clock.advanceUntil("it leads", STEP, () -> events.size() == 1);
        rival.lock("billing").forceRelease();
        clock.advanceUntil("it leads again", STEP, () -> events.size() == 3);
        assertThat(events).containsExactly("elected", "BROKEN", "elected");
        election.close();
    }

    @Test
    void aTermThatIsOverBeforeItsTurnIsNotAnnounced() {
        AtomicInteger asked = new AtomicInteger();
        // The gate is asked when the lock was won, and breaks it the first time.
        Standing one = new Standing(
                locks, "billing", ElectionOptions.defaults().withId("one").withReady(() -> {
                    if (asked.incrementAndGet() == 2) {
                        locks.lock("billing").forceRelease();
                    }
                    return true;
                }));
        one.start();
        awaitLeads(one);
        assertThat(asked).hasValue(4);
        assertThat(one.events).containsExactly("elected");
    }

    @Test
    void listenersComeBeforeTheStartAndAnElectionStartsOnce() {
        Election election = locks.election("billing");
        election.start();
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(election::start);
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> election.onElected(term -> {}));
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> election.onLost(reason -> {}));
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> election.onFailure(failure -> {}));
        election.close();
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(election::start);
    }

    /** It stood for nothing, and nobody learned of that. */
    @Test
    void anElectionOfAClosedClientDoesNotStart() {
        Election election = locks.election("billing");
        locks.close();
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(election::start)
                .withMessageContaining("billing")
                .withMessageContaining("client is closed");
    }

    // ---- the end of a candidate ----

    @Test
    void theCloseOfTheClientEndsAWaitForATermOfAnElectionThatWasNotStarted() {
        Election idle = locks.election("idle");
        CompletableFuture<Optional<Term>> waiting = a.park(() -> idle.awaitTerm(Duration.ofDays(1)));
        locks.close();
        assertThat(Actor.end(waiting)).isEmpty();
        assertThat(a.get(() -> idle.awaitTerm(Duration.ofDays(1)))).isEmpty();
    }

    @Test
    void closeReleasesBeforeItReturnsAndIsCalledTwice() {
        Standing one = standing(locks, "one").start();
        awaitLeads(one);
        a.run(one.election::close);
        assertThat(isUnused("billing")).isTrue();
        assertThat(one.events).containsExactly("elected", "CLOSED");
        a.run(one.election::close);
        pass(Standing.LEASE);
        assertThat(isUnused("billing")).isTrue();
        assertThat(one.events).hasSize(2);
    }

    @Test
    void closeOfOneWhoWaitsLeavesNothing() {
        Standing first = standing(rival, "first").start();
        awaitLeads(first);
        Standing one = standing(locks, "one").start();
        awaitWaiters("billing", 1);
        a.run(one.election::close);
        awaitWaiters("billing", 0);
        first.election.close();
        assertThat(one.events).isEmpty();
    }

    @Test
    void closeAndResignWhileAListenerOfTheirsRuns() {
        Standing one = standing(locks, "one");
        one.election.onElected(term -> one.election.resign());
        one.election.onLost(reason -> {
            if (one.terms.size() == 2) {
                one.election.close();
            }
        });
        one.start();
        clock.advanceUntil("it has closed itself", STEP, () -> one.events.size() == 4);
        awaitUnused("billing");
        assertThat(one.events).containsExactly("elected", "RESIGNED", "elected", "RESIGNED");
        Standing other = standing(locks, "other");
        other.election.onElected(term -> other.election.close());
        other.start();
        clock.advanceUntil("it has closed itself", STEP, () -> other.events.size() == 2);
        awaitUnused("billing");
        assertThat(other.events).containsExactly("elected", "CLOSED");
    }

    @Test
    void closeWhileTheGateIsAskedWinsNoTerm() {
        AtomicInteger asked = new AtomicInteger();
        CountDownLatch mayAnswer = new CountDownLatch(1);
        CompletableFuture<Optional<Term>> won = new CompletableFuture<>();
        Election[] self = new Election[1];
        self[0] = locks.election(
                "billing", ElectionOptions.defaults().withLease(Standing.LEASE).withReady(() -> {
                    if (asked.incrementAndGet() == 2) {
                        awaitUninterruptibly(mayAnswer);
                    }
                    return true;
                }));
        self[0].onElected(term -> won.complete(Optional.of(term)));
        self[0].start();
        clock.advanceUntil("the gate is asked by the winner", STEP, () -> asked.get() == 2);
        CompletableFuture<Void> closed = a.begin(self[0]::close);
        Wait.until("it leaves the election", () -> self[0].toString().contains("CLOSED"));
        assertThat(closed.isDone()).as("the lock is held still").isFalse();
        mayAnswer.countDown();
        Actor.end(closed);
        assertThat(isUnused("billing")).isTrue();
        assertThat(won).isNotDone();
    }

    /** The next term does not begin before the callback has returned, so that it would wait for itself. */
    @Test
    void aCallbackThatWaitsForATermIsRefused() {
        CompletableFuture<Throwable> refused = new CompletableFuture<>();
        CompletableFuture<Optional<Term>> present = new CompletableFuture<>();
        Standing one = standing(locks, "one");
        one.election.onElected(term -> present.complete(awaitTerm(one)));
        one.election.onLost(reason -> {
            try {
                awaitTerm(one);
            } catch (IllegalStateException expected) {
                refused.complete(expected);
            }
        });
        one.start();
        awaitLeads(one);
        assertThat(present.join()).contains(one.lastTerm());
        one.election.resign();
        clock.advanceUntil("it was refused", STEP, refused::isDone);
        assertThat(refused.join()).hasMessageContaining("billing").hasMessageContaining("another thread");
        awaitLeads(one);
    }

    private static Optional<Term> awaitTerm(Standing one) {
        try {
            return one.election.awaitTerm(Duration.ofDays(1));
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
    }

    @Test
    void theCloseOfTheClientEndsEverything() {
        Holdfast client = client(memory);
        Standing leader = standing(client, "leader").start();
        awaitLeads(leader);
        Standing waiting = standing(client, "waiting").start();
        awaitWaiters("billing", 1);
        CompletableFuture<Optional<Term>> awaiting = a.park(() -> waiting.election.awaitTerm(Duration.ofDays(1)));
        client.close();
        assertThat(Actor.end(awaiting)).isEmpty();
        Wait.until("the loss was reported", () -> leader.has("CLOSED"));
        assertThat(leader.leads()).isFalse();
        awaitUnused("billing");
    }

    // ---- waiting ----

    @Test
    void aTermIsWaitedForUntilItComesTheTimeIsOverOrTheThreadIsInterrupted() {
        Standing first = standing(rival, "first").start();
        awaitLeads(first);
        Standing one = standing(locks, "one").start();
        awaitWaiters("billing", 1);
        CompletableFuture<Optional<Term>> inVain = a.park(() -> one.election.awaitTerm(Duration.ofSeconds(3)));
        CompletableFuture<Optional<Term>> inTime = b.park(() -> one.election.awaitTerm(Duration.ofDays(1)));
        CompletableFuture<Optional<Term>> interrupted = c.park(() -> one.election.awaitTerm(Duration.ofDays(1)));
        pass(Duration.ofSeconds(3));
        assertThat(Actor.end(inVain)).isEmpty();
        c.interrupt();
        Actor.failure(InterruptedException.class, interrupted);
        first.election.close();
        awaitLeads(one);
        assertThat(Actor.end(inTime)).contains(one.lastTerm());
        assertThat(a.get(() -> one.election.awaitTerm(Duration.ZERO))).contains(one.lastTerm());
        Actor.failure(IllegalArgumentException.class, a.start(() -> one.election.awaitTerm(Duration.ofMillis(-1))));
    }

    @Test
    void anOutageIsReportedAndACandidateGoesOnTrying() {
        network.partition();
        Standing one = standing(locks, "one").start();
        clock.advanceUntil("it was reported thrice", STEP, () -> one.events.size() >= 3);
        assertThat(one.events).containsOnly("StoreUnavailableException");
        network.heal();
        awaitLeads(one);
    }

    @Test
    void aNameOfAnotherKindIsReportedAndACandidateGoesOnTrying() throws InterruptedException {
        Lease permit = rival.semaphore("billing", 3).acquire();
        Standing one = standing(locks, "one").start();
        clock.advanceUntil("it was reported", STEP, () -> one.events.size() >= 2);
        assertThat(one.events).containsOnly("LockConflictException");
        permit.release();
        awaitLeads(one);
    }

    @Test
    void whoIsNotReadyDoesNotJoinAndGivesBackWhatItWins() {
        AtomicBoolean ready = new AtomicBoolean();
        AtomicBoolean fails = new AtomicBoolean();
        Standing one = new Standing(
                locks, "billing", ElectionOptions.defaults().withId("one").withReady(() -> {
                    if (fails.get()) {
                        Thread.currentThread().setUncaughtExceptionHandler((thread, expected) -> {});
                        throw new IllegalStateException("the gate's own failure");
                    }
                    return ready.get();
                }));
        one.start();
        pass(Duration.ofSeconds(5));
        assertThat(isUnused("billing")).isTrue();
        Standing first = standing(rival, "first").start();
        awaitLeads(first);
        ready.set(true);
        clock.advanceUntil("it waits", STEP, () -> waiters("billing") == 1);
        fails.set(true);
        Standing third = standing(rival, "third").start();
        awaitWaiters("billing", 2);
        first.election.close();
        awaitLeads(third);
        assertThat(one.events).isEmpty();
        fails.set(false);
        clock.advanceUntil("it waits", STEP, () -> waiters("billing") == 1);
        third.election.close();
        awaitLeads(one);
    }

    // ---- what others see ----

    @Test
    void whatALeaderProclaimsIsSeenAtOnceAndOfOneWhoWaitsWithItsNextRefresh() {
        Standing leader = new Standing(
                locks, "billing", ElectionOptions.defaults().withId("leader").withPayload("10.0.0.7:80"));
        leader.start();
        awaitLeads(leader);
        Standing waiting = standing(locks, "waiting").start();
        awaitWaiters("billing", 1);
        Election other = rival.election("billing");
        assertThat(other.leader().orElseThrow().payload()).isEqualTo("10.0.0.7:80");
        a.run(() -> leader.election.proclaim("10.0.0.8:80 of zone b"));
        assertThat(other.leader().orElseThrow().payload()).isEqualTo("10.0.0.8:80 of zone b");
        waiting.election.proclaim("next");
        pass(Duration.ofSeconds(10));
        assertThat(other.candidates()).extracting(Candidate::payload).containsExactly("10.0.0.8:80 of zone b", "next");
        assertThat(other.candidates()).extracting(Candidate::isLeader).containsExactly(true, false);
        leader.election.close();
        awaitLeads(waiting);
        assertThat(other.leader().orElseThrow().payload()).isEqualTo("next");
        String tooLong = "x".repeat(ElectionOptions.MAX_PAYLOAD + 1);
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> waiting.election.proclaim(tooLong))
                .withMessageContaining("64");
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> waiting.election.proclaim("two\nlines"));
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> ElectionOptions.defaults().withId("two words"));
    }

    @Test
    void anObserverSeesThePresentLeaderAtOnceAndThenChanges() {
        Standing first = standing(rival, "first").start();
        awaitLeads(first);
        List<String> seen = new CopyOnWriteArrayList<>();
        Election observer = locks.election("billing");
        observer.observe(
                leader -> seen.add(leader.map(one -> one.id() + one.payload()).orElse("nobody")));
        Wait.until("the leader was seen", () -> seen.size() == 1);
        a.run(() -> first.election.proclaim("+"));
        clock.advanceUntil("the payload was seen", STEP, () -> seen.size() == 2);
        network.next(Verb.INSPECT, Fault.REFUSE, Fault.DROP_REPLY);
        a.run(first.election::close);
        clock.advanceUntil("the end was seen", STEP, () -> seen.size() == 3);
        Standing second = standing(rival, "second").start();
        awaitLeads(second);
        clock.advanceUntil("the next was seen", STEP, () -> seen.size() == 4);
        assertThat(seen).containsExactly("first", "first+", "nobody", "second");
        observer.close();
        second.election.close();
        pass(Duration.ofSeconds(3));
        assertThat(seen).hasSize(4);
    }

    /** Such an executor, on which a listener works for as long as it leads, delays neither the loss nor its consequences. */
    @Test
    void aLossIsKnownWhileTheOnlyThreadForCallbacksIsTaken() {
        ExecutorService single = Executors.newSingleThreadExecutor();
        Holdfast client = client(Holdfast.builder().store(store).callbacks(single));
        CountDownLatch mayReturn = new CountDownLatch(1);
        Standing one = standing(client, "one");
        one.election.onElected(term -> awaitUninterruptibly(mayReturn));
        CompletableFuture<LossReason> interrupted = new CompletableFuture<>();
        CountDownLatch begun = new CountDownLatch(1);
        one.start();
        a.begin(() -> one.election.run(term -> {
            begun.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException lost) {
                interrupted.complete(LossReason.BROKEN);
                throw lost;
            }
        }));
        clock.advanceUntil("the task runs", STEP, () -> begun.getCount() == 0);
        rival.lock("billing").forceRelease();
        clock.advanceUntil("the task was interrupted", STEP, interrupted::isDone);
        assertThat(one.events).containsExactly("elected");
        mayReturn.countDown();
        clock.advanceUntil("the loss was reported", STEP, () -> one.events.contains("BROKEN"));
        a.interrupt();
        one.election.close();
        single.shutdown();
    }

    /** Else the lock would be held and renewed for one that nobody notifies, and nobody would lead. */
    @Test
    void aTermThatNoCallbackTakesGoesToAnotherCandidateAfterOneLease() {
        ExecutorService single = Executors.newSingleThreadExecutor();
        Holdfast client = client(Holdfast.builder().store(store).callbacks(single));
        CountDownLatch mayReturn = new CountDownLatch(1);
        Standing first = standing(rival, "first").start();
        awaitLeads(first);
        Standing second = standing(client, "second").start();
        awaitWaiters("billing", 1);
        Standing third = standing(rival, "third").start();
        awaitWaiters("billing", 2);
        single.execute(() -> awaitUninterruptibly(mayReturn));
        first.election.close();
        pass(Standing.LEASE.minusSeconds(1));
        assertThat(holders("billing")).as("it is held for the second").isOne();
        assertThat(third.leads()).isFalse();
        pass(Duration.ofSeconds(2));
        awaitLeads(third);
        assertThat(second.leads()).isFalse();
        mayReturn.countDown();
        awaitWaiters("billing", 1);
        assertThat(second.events).isEmpty();
        third.election.close();
        awaitLeads(second);
        single.shutdown();
    }

    @Test
    void aGateThatHangsKeepsTheLockForOneLeaseOnly() {
        AtomicInteger asked = new AtomicInteger();
        CountDownLatch mayAnswer = new CountDownLatch(1);
        Standing one = new Standing(
                locks, "billing", ElectionOptions.defaults().withId("one").withReady(() -> {
                    if (asked.incrementAndGet() == 2) {
                        awaitUninterruptibly(mayAnswer);
                    }
                    return true;
                }));
        one.start();
        clock.advanceUntil("the gate is asked by the winner", STEP, () -> asked.get() == 2);
        Standing other = standing(rival, "other").start();
        awaitWaiters("billing", 1);
        pass(Standing.LEASE.minusSeconds(1));
        assertThat(other.leads()).isFalse();
        pass(Duration.ofSeconds(2));
        awaitLeads(other);
        mayAnswer.countDown();
        awaitWaiters("billing", 1);
        assertThat(one.events).isEmpty();
        other.election.close();
        awaitLeads(one);
    }

    @Test
    void aClientThatClosesWaitsUntilTheTasksOfItsElectionsHaveEnded() {
        Holdfast client = client(store);
        Standing one = standing(client, "one");
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        CompletableFuture<Void> running = a.begin(() -> one.election.run(term -> {
            begun.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException over) {
                interrupted.countDown();
                awaitUninterruptibly(mayEnd);
            }
        }));
        // A term that ends before its turn comes has no task, and nobody is notified of it.
        Wait.until("the task runs", () -> begun.getCount() == 0);
        Wait.until("listeners know of the term", () -> one.has("elected"));
        CompletableFuture<Void> closed = b.begin(client::close);
        Wait.until("the task is interrupted", () -> interrupted.getCount() == 0);
        Wait.until("the loss was reported", () -> one.has("CLOSED"));
        // Whatever else the close would do now is done.
        pass(Duration.ofMillis(100));
        assertThat(one.leads()).isFalse();
        assertThat(holders("billing")).as("held while the task ends").isOne();
        assertThat(closed).isNotDone();
        mayEnd.countDown();
        Actor.end(running);
        Actor.end(closed);
        assertThat(isUnused("billing")).isTrue();
    }

    @Test
    void aTaskMayCloseItsClient() {
        Holdfast client = client(store);
        Standing one = standing(client, "one");
        Actor.end(a.begin(() -> one.election.run(term -> client.close())));
        assertThat(isUnused("billing")).isTrue();
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(one.election::start);
    }

    /** A win that no callback has seen yet is the election's all the same. */
    @Test
    void closeWaitsForAWinThatIsOnItsWay() {
        ExecutorService single = Executors.newSingleThreadExecutor();
        Holdfast client = client(Holdfast.builder().store(store).callbacks(single));
        Standing first = standing(rival, "first").start();
        awaitLeads(first);
        Standing one = standing(client, "one").start();
        awaitWaiters("billing", 1);
        CountDownLatch mayReturn = new CountDownLatch(1);
        single.execute(() -> awaitUninterruptibly(mayReturn));
        first.election.close();
        Wait.until("it is held for the one who waited", () -> holders("billing") == 1 && waiters("billing") == 0);
        CompletableFuture<Void> closed = a.begin(one.election::close);
        Wait.until("it leaves the election", () -> one.election.toString().contains("CLOSED"));
        assertThat(closed.isDone()).as("the lock is held still").isFalse();
        mayReturn.countDown();
        Actor.end(closed);
        assertThat(isUnused("billing")).isTrue();
        assertThat(one.events).isEmpty();
        single.shutdown();
    }

    @Test
    void optionsAreLocksOptionsAndBounded() {
        assertThat(ElectionOptions.defaults().storeTimeout())
                .isEqualTo(LockOptions.defaults().storeTimeout());
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> ElectionOptions.defaults().withLease(Duration.ofMillis(1)));
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> ElectionOptions.defaults().withObserveEvery(Duration.ofMillis(1)));
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> ElectionOptions.defaults().withStoreTimeout(Duration.ZERO));
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        boolean interrupted = false;
        while (true) {
            try {
                latch.await();
                break;
            } catch (InterruptedException again) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
