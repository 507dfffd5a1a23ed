package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedLock;
import dev.holdfast.Engines;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.internal.calls.ReleaseRetrier;
import dev.holdfast.internal.cohort.CohortLock;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.testkit.WrappedClock;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.AbstractList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Tests of the end of a client: nobody waits for ever, holders are notified, and the store is free at once. */
class CloseTest extends EngineFixture {

    private static final Duration FIRST_PAUSE = Duration.ofNanos(ReleaseRetrier.BACKOFF.first());

    private final DistributedLock lock = locks.lock("close");

    @Test
    void allWhoWaitAreEnded() {
        c.run(rival.lock("close")::lock);
        CompletableFuture<Void> thread = a.parkIn(lock::lock);
        CompletableFuture<Boolean> timed = b.park(() -> lock.tryLock(1, TimeUnit.DAYS));
        CompletableFuture<Void> fair =
                actor("fair").parkIn(locks.lock("close", LockOptions.defaults().withFair(true))::lock);
        CompletableFuture<Void> spinning = actor("spinning")
                .parkIn(locks.lock("close", LockOptions.defaults().withSpin(true))::lock);
        CompletableFuture<Void> several = actor("several").parkIn(locks.multiLock("before", "close")::lock);
        CompletableFuture<Lease> future = lock.acquireAsync();
        awaitWaiters("close", 2);

        locks.close();
        for (CompletableFuture<?> waiting : List.of(thread, timed, fair, spinning, several, future)) {
            assertThat(Actor.failure(LockException.class, waiting))
                    .hasMessageContainingAll("close", locks.clientId(), "is closed");
        }
        awaitWaiters("close", 0);
        awaitUnused("before");
        c.run(rival.lock("close")::unlock);
    }

    @Test
    void holdersAreNotifiedThatTheClientWasClosedAndTheStoreIsFreeAtOnce() throws InterruptedException {
        a.run(lock::lock);
        Lease lease = locks.lock("lease").acquire();
        CompletableFuture<LossReason> reported = new CompletableFuture<>();
        lease.onLost(reported::complete);
        locks.close();
        assertThat(isUnused("close")).as("released before close() returned").isTrue();
        assertThat(isUnused("lease")).isTrue();
        assertThat(Actor.end(reported)).isEqualTo(LossReason.CLOSED);
        assertThat(lease.isValid()).isFalse();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(lease::release)
                .satisfies(lost -> assertThat(lost.reason()).isEqualTo(LossReason.CLOSED))
                .withMessageContaining("closed");
        assertThat(a.get(lock::isHeldByCurrentThread)).isFalse();
        Actor.failure(LockLostException.class, a.begin(lock::unlock));
    }

    /** They wait for their next attempt, which the clock, that stands still, would never begin. */
    @Test
    void thoseWhoWaitToRepeatAnAttemptAreEnded() {
        network.next(Verb.TRY_ACQUIRE, Fault.REFUSE);
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.REFUSE);
        CompletableFuture<Boolean> one = a.park(() -> lock.tryLock());
        CompletableFuture<Boolean> several =
                b.park(() -> locks.multiLock("x", "y").tryLock());
        clock.settle();
        assertThat(network.met(Fault.REFUSE)).isEqualTo(2);
        locks.close();
        Actor.failure(LockException.class, one);
        Actor.failure(LockException.class, several);
    }

    @Test
    void aReleaseThatFailsDuringTheCloseIsRepeated() {
        a.run(lock::lock);
        network.next(Verb.RELEASE, Fault.REFUSE);
        CompletableFuture<Void> closing = b.begin(locks::close);
        Wait.until("the release has failed", () -> network.met(Fault.REFUSE) == 1);
        // In one step, because the close waits by the system's clock, for two seconds.
        clock.advanceUntil("the close has ended", FIRST_PAUSE, closing::isDone);
        Actor.end(closing);
        assertThat(isUnused("close")).isTrue();
    }

    @Test
    void aNewAcquisitionIsRefused() {
        locks.close();
        store.reset();
        Actor.failure(LockException.class, a.begin(lock::lock));
        Actor.failure(LockException.class, a.start(() -> lock.tryLock()));
        Actor.failure(LockException.class, a.start(() -> lock.tryLock(1, TimeUnit.SECONDS)));
        Actor.failure(LockException.class, a.start(() -> lock.acquire()));
        Actor.failure(LockException.class, lock.acquireAsync());
        Actor.failure(LockException.class, a.begin(locks.multiLock("x", "y")::lock));
        Actor.failure(LockException.class, a.start(locks.multiLock("x", "y")::tryLock));
        Actor.failure(LockException.class, locks.multiLock("x", "y").acquireAsync());
        Actor.failure(LockException.class, a.start(() -> locks.semaphore("s", 2).acquire()));
        Actor.failure(
                LockException.class,
                a.begin(locks.lock("close", LockOptions.defaults().withFair(true))::lock));
        assertThat(isUnused("close")).isTrue();
        assertThat(isUnused("x")).isTrue();
    }

    /** Whether the store was closed with it, or is the user's own and works still. */
    @Test
    void aClosedClientThatIsAskedSaysThatItIsClosed() {
        Holdfast owner = Holdfast.builder().url("memory:").clock(clock).connect();
        for (Holdfast client : List.of(locks, owner)) {
            ResourceState.Entry seen = held(client);
            client.close();
            DistributedLock asked = client.lock("asked");
            Stream.<ThrowingCallable>of(
                            asked::state,
                            asked::isLocked,
                            asked::queueLength,
                            asked::forceRelease,
                            client.semaphore("asked", 2)::availablePermits,
                            client.election("asked")::leader,
                            client.election("asked")::candidates,
                            () -> client.state("asked"),
                            () -> client.list("", 1),
                            () -> client.forceRelease(seen))
                    .forEach(question -> assertThatExceptionOfType(LockException.class)
                            .isThrownBy(question)
                            .isExactlyInstanceOf(LockException.class)
                            .withMessageContainingAll(client.clientId(), "is closed", "connect another one"));
        }
    }

    private static ResourceState.Entry held(Holdfast client) {
        try (Lease held = client.lock("asked").tryAcquire().orElseThrow()) {
            assertThat(held.isValid()).isTrue();
            return client.state("asked").orElseThrow().holders().get(0);
        }
    }

    /** It is not the store's failure if the client was closed while the store was asked. */
    @Test
    void aQuestionThatCrossesTheCloseFailsBecauseOfIt() {
        network.next(Verb.INSPECT, Fault.HANG_REPLY);
        CompletableFuture<?> asked = a.park(lock::state);
        locks.close();
        clock.advance(LockOptions.defaults().storeTimeout());
        assertThat(Actor.failure(LockException.class, asked)).hasMessageContaining("is closed");
        network.letGo();
    }

    @Test
    void aGrantThatCrossesTheCloseIsGivenBack() {
        network.next(Verb.ENQUEUE, Fault.HANG_REPLY);
        CompletableFuture<Void> waiting = a.parkIn(lock::lock);
        locks.close();
        Actor.failure(LockException.class, waiting);
        network.letGo();
        awaitUnused("close");
    }

    /** Nothing can be sent any more when the reply comes. */
    @Test
    void aGrantOfSeveralNamesThatCrossesTheCloseIsGivenBack() {
        CompletableFuture<Boolean> trying = trySeveralWithoutAReply();
        locks.close();
        assertThat(isUnused("x") && isUnused("y")).isTrue();
        Actor.failure(LockException.class, trying);
        network.letGo();
        assertThat(isUnused("x") && isUnused("y")).isTrue();
    }

    /** The reply has come, but the thread that asked takes it up after the close. */
    @Test
    void aGrantOfSeveralNamesIsNotTakenUpAfterTheClose() {
        CompletableFuture<Boolean> trying = trySeveralWithoutAReply();
        Runnable goOn = clock.holdBack("A");
        network.letGo();
        locks.close();
        goOn.run();
        Actor.failure(LockException.class, trying);
        awaitUnused("x");
        awaitUnused("y");
    }

    /** The thread stands still, with the answer in its hands, for longer than the close waits for it. */
    @Test
    void aGrantOfSeveralNamesIsNotTakenUpLongAfterTheClose() {
        CompletableFuture<Void> reached = new CompletableFuture<>();
        CompletableFuture<Void> goesOn = new CompletableFuture<>();
        Holdfast closing = client(new ForwardingStore(network) {
            @Override
            public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
                return super.tryAcquireAll(claims).thenApply(answers -> new StoppingList(answers, reached, goesOn));
            }
        });
        mayLeaveClaims();
        CompletableFuture<Boolean> trying = a.start(closing.multiLock("x", "y")::tryLock);
        Actor.end(reached);
        CompletableFuture<Void> close = c.begin(closing::close);
        clock.advanceUntil("the client is closed", HAND_OFF_TIME, close::isDone);
        goesOn.complete(null);
        Actor.failure(LockException.class, trying);
        assertThat(closing.heldCount()).isZero();
    }

    /** The thread has seen that the client is open, and takes up the last name while the client closes. */
    @Test
    void aGrantOfSeveralNamesIsReleasedAfterItsHoldHasEnded() throws InterruptedException {
        ClockOfAdoptions stopping = new ClockOfAdoptions(2);
        Holdfast closing = Holdfast.builder().store(network).clock(stopping).connect();
        CompletableFuture<Boolean> trying = a.start(closing.multiLock("x", "y")::tryLock);
        Actor.end(stopping.reached);
        // The close goes on from a release only when the test lets it.
        network.next(Verb.RELEASE, Fault.HANG_REPLY, Fault.HANG_REPLY);
        Thread closer = new Thread(closing::close);
        closer.start();
        Wait.until("the close waits", () -> LockSupport.getBlocker(closer) == Engines.of(closing));
        stopping.goOn.complete(null);
        Actor.end(trying);
        DistributedLock rivals = rival.multiLock("x", "y");
        Wait.until("the rival holds both", () -> c.get(rivals::tryLock));
        assertThat(a.get(closing.lock("x")::isHeldByCurrentThread)).isFalse();
        assertThat(a.get(closing.lock("y")::isHeldByCurrentThread)).isFalse();
        network.letGo();
        closer.join();
        c.run(rivals::unlock);
    }

    /** Stops a thread that takes up what was granted, before its check whether the client is open. */
    private static final class StoppingList extends AbstractList<Attempt> {

        private final List<Attempt> answers;
        private final CompletableFuture<Void> reached;
        private final CompletableFuture<Void> goesOn;

        private StoppingList(List<Attempt> answers, CompletableFuture<Void> reached, CompletableFuture<Void> goesOn) {
            this.answers = answers;
            this.reached = reached;
            this.goesOn = goesOn;
        }

        // The first that is asked of an answer, when no mutex is held.
        @Override
        public Stream<Attempt> stream() {
            reached.complete(null);
            goesOn.join();
            return super.stream();
        }

        @Override
        public Attempt get(int index) {
            return answers.get(index);
        }

        @Override
        public int size() {
            return answers.size();
        }
    }

    /** Stops a thread that takes up a grant, past its check whether the client is open. */
    private final class ClockOfAdoptions extends WrappedClock {

        private final CompletableFuture<Void> reached = new CompletableFuture<>();
        private final CompletableFuture<Void> goOn = new CompletableFuture<>();
        private final AtomicInteger left;

        private ClockOfAdoptions(int number) {
            super(clock);
            this.left = new AtomicInteger(number);
        }

        @Override
        public long nanoTime() {
            boolean adopts = StackWalker.getInstance()
                    .walk(frames ->
                            frames.anyMatch(frame -> frame.getMethodName().equals("adopt")
                                    && frame.getClassName().equals(CohortLock.class.getName())));
            if (adopts && left.decrementAndGet() == 0) {
                reached.complete(null);
                goOn.join();
            }
            return super.nanoTime();
        }
    }

    private CompletableFuture<Boolean> trySeveralWithoutAReply() {
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.HANG_REPLY);
        CompletableFuture<Boolean> trying = a.park(locks.multiLock("x", "y")::tryLock);
        assertThat(network.hanging()).isEqualTo(1);
        return trying;
    }

    @Test
    void closeIsIdempotentAndHarmsNoOtherClientOfTheStore() {
        a.run(rival.lock("other")::lock);
        locks.close();
        locks.close();
        assertThat(a.get(rival.lock("other")::isHeldByCurrentThread)).isTrue();
        a.run(rival.lock("other")::unlock);
    }

    /** If releases cannot be sent, close does not wait for ever. */
    @Test
    void closeDuringAnOutageEnds() throws InterruptedException {
        Lease lease = lock.acquire();
        network.partition();
        mayLeaveClaims();
        locks.close();
        assertThat(lease.isValid()).isFalse();
    }

    @Test
    void onlyAStoreThatTheClientOpenedIsClosedWithIt() {
        AtomicInteger closed = new AtomicInteger();
        LockStore given = new ForwardingStore(memory) {
            @Override
            public void close() {
                closed.incrementAndGet();
            }
        };
        Holdfast.over(given).close();
        assertThat(closed).hasValue(0);

        Holdfast own = Holdfast.connect("memory:");
        DistributedLock ownLock = own.lock("close");
        ownLock.lock();
        ownLock.unlock();
        own.close();
        assertThatExceptionOfType(LockException.class).isThrownBy(ownLock::lock);
        assertThatExceptionOfType(LockException.class).isThrownBy(() -> own.state("close"));
    }

    @Test
    void theThreadsOfAClosedClientEnd() {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        Holdfast mine = client(Holdfast.builder().store(memory));
        Actor.end(mine.lock("close").acquireAsync()).release();
        mine.close();
        Wait.until(
                "no timer and no renewals are left",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> !before.contains(thread)
                                && (thread.getName().equals("holdfast-losses")
                                        || thread.getName().equals("holdfast-renewals"))));
    }
}
