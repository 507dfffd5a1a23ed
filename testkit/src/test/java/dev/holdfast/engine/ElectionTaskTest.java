package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.election.Term;
import dev.holdfast.testkit.ThreadKind;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of tasks that run while their candidate leads. */
class ElectionTaskTest extends EngineFixture {

    private static final Duration STEP = Duration.ofMillis(100);

    private final Standing one = new Standing(locks, "task", "one");
    private final List<Term> terms = new CopyOnWriteArrayList<>();

    @ParameterizedTest
    @MethodSource("dev.holdfast.testkit.ThreadKind#all")
    void aTaskIsInterruptedWhenItsTermEndsAndRunsAgainInTheNext(ThreadKind kind) {
        Actor leader = new Actor("leader", clock, kind.factory());
        CompletableFuture<Void> running = leader.begin(() -> one.election.run(term -> {
            terms.add(term);
            if (terms.size() < 3) {
                new CountDownLatch(1).await();
            }
        }));
        for (int i = 1; i <= 2; i++) {
            int term = i;
            clock.advanceUntil("the task runs", STEP, () -> terms.size() == term);
            rival.lock("task").forceRelease();
        }
        clock.advanceUntil("the third one has returned", STEP, running::isDone);
        Actor.end(running);
        leader.close();
        assertThat(terms).extracting(Term::token).isSorted().doesNotHaveDuplicates();
        clock.advanceUntil("it leads again, without a task", STEP, () -> one.events.size() == 7);
        assertThat(one.events)
                .containsExactly("elected", "BROKEN", "elected", "BROKEN", "elected", "RESIGNED", "elected");
    }

    @Test
    void theNextTermWaitsForATaskThatIgnoresItsInterrupt() {
        CountDownLatch mayReturn = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        CompletableFuture<Void> running = a.begin(() -> one.election.run(term -> {
            terms.add(term);
            while (mayReturn.getCount() > 0) {
                try {
                    mayReturn.await();
                } catch (InterruptedException ignored) {
                    interrupted.countDown();
                }
            }
        }));
        clock.advanceUntil("the task runs", STEP, () -> terms.size() == 1);
        rival.lock("task").forceRelease();
        clock.advanceUntil("the task was interrupted", STEP, () -> interrupted.getCount() == 0);
        clock.advanceUntil("the loss was reported", STEP, () -> one.has("BROKEN"));
        clock.advance(Standing.LEASE);
        assertThat(isUnused("task")).as("it does not stand again yet").isTrue();
        mayReturn.countDown();
        clock.advanceUntil("the task has run again", STEP, running::isDone);
        assertThat(terms).hasSize(2);
    }

    @Test
    void whoResignsKeepsTheLockUntilTheTaskHasEndedButOneLeaseAtMost() {
        CountDownLatch never = new CountDownLatch(1);
        CompletableFuture<Void> running = a.begin(() -> one.election.run(term -> {
            terms.add(term);
            awaitUninterruptibly(never);
        }));
        clock.advanceUntil("the task runs", STEP, () -> terms.size() == 1);
        Standing other = new Standing(rival, "task", "other").start();
        awaitWaiters("task", 1);
        one.election.resign();
        Wait.until("the end was reported", () -> one.has("RESIGNED"));
        assertThat(holders("task")).isOne();
        assertThat(other.leads()).isFalse();
        clock.advanceUntil("the other leads", STEP, other::leads);
        never.countDown();
        other.election.close();
        clock.advanceUntil("the task runs again", STEP, running::isDone);
    }

    @Test
    void anInterruptOfSomebodyElseEndsTheRunAndTheTerm() {
        CompletableFuture<Void> running = a.begin(() -> one.election.run(term -> {
            terms.add(term);
            new CountDownLatch(1).await();
        }));
        clock.advanceUntil("the task runs", STEP, () -> terms.size() == 1);
        a.interrupt();
        Actor.failure(InterruptedException.class, running);
        clock.advanceUntil("the end was reported", STEP, () -> one.events.contains("RESIGNED"));
        CompletableFuture<Void> waiting = b.begin(() -> one.election.run(term -> new CountDownLatch(1).await()));
        one.election.close();
        Actor.end(waiting);
    }

    @Test
    void whatATaskThrowsComesOutAndTheCandidateResigns() {
        CompletableFuture<Void> failing = a.begin(() -> one.election.run(term -> {
            throw new IllegalStateException("the task's own failure");
        }));
        clock.advanceUntil("it has failed", STEP, failing::isDone);
        assertThat(Actor.failure(IllegalStateException.class, failing)).hasMessage("the task's own failure");
        clock.advanceUntil("the end was reported", STEP, () -> one.events.contains("RESIGNED"));
        CompletableFuture<Void> error = a.begin(() -> one.election.run(term -> {
            throw new AssertionError("the task's own error");
        }));
        clock.advanceUntil("it has failed", STEP, error::isDone);
        Actor.failure(AssertionError.class, error);
    }

    @Test
    void theInterruptOfATermDoesNotOutliveItsTask() {
        List<Boolean> flags = new CopyOnWriteArrayList<>();
        a.begin(() -> one.election.run(term -> {
                    terms.add(term);
                    flags.add(Thread.currentThread().isInterrupted());
                    while (!Thread.currentThread().isInterrupted()) {
                        LockSupport.park(this);
                    }
                }))
                .thenRun(() -> flags.add(Thread.currentThread().isInterrupted()));
        clock.advanceUntil("the task runs", STEP, () -> flags.size() == 1);
        one.election.resign();
        clock.advanceUntil("the task runs again", STEP, () -> flags.size() == 2);
        one.election.close();
        Wait.until("the run has ended", () -> flags.size() == 3);
        assertThat(flags).containsExactly(false, false, false);
    }

    @Test
    void aTaskMayCloseItsElection() {
        CompletableFuture<Void> running = a.begin(() -> one.election.run(term -> one.election.close()));
        clock.advanceUntil("it has ended", STEP, running::isDone);
        Actor.end(running);
        awaitUnused("task");
        assertThat(one.events).containsExactly("elected", "CLOSED");
        assertThat(a.start(() -> {
                    one.election.run(term -> terms.add(term));
                    return terms.size();
                }))
                .succeedsWithin(Duration.ofSeconds(Wait.LONGEST_SECONDS))
                .isEqualTo(0);
    }

    /** The next term does not begin before the task has returned, so that it would wait for itself. */
    @Test
    void aTaskThatWaitsForTheNextTermIsRefused() {
        CompletableFuture<Term> present = new CompletableFuture<>();
        CompletableFuture<Void> running = a.begin(() -> one.election.run(term -> {
            present.complete(one.election.awaitTerm(Standing.LEASE).orElseThrow());
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException over) {
                one.election.run(again -> terms.add(again));
            }
        }));
        clock.advanceUntil("the task runs", STEP, present::isDone);
        rival.lock("task").forceRelease();
        clock.advanceUntil("it was refused", STEP, running::isDone);
        assertThat(Actor.failure(IllegalStateException.class, running))
                .hasMessageContaining("task")
                .hasMessageContaining("another thread");
        assertThat(terms).isEmpty();
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        while (latch.getCount() > 0) {
            try {
                latch.await();
            } catch (InterruptedException again) {
                Thread.onSpinWait();
            }
        }
    }
}
