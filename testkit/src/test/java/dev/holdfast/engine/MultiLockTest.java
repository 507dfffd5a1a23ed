package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.LossReason;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests of several names as one lock: all or nothing, in one order, with one time budget. */
class MultiLockTest extends EngineFixture {

    private static final List<String> NAMES = List.of("x", "y", "z");
    private static final Duration SHORT = Duration.ofSeconds(5);

    private final DistributedLock all = locks.multiLock("z", "x", "y");

    private DistributedLock with(LockOptions options) {
        return locks.multiLock(NAMES, options);
    }

    private void assertUnused() {
        NAMES.forEach(this::awaitUnused);
    }

    @Test
    void allFreeNamesAreTakenInOneTrip() {
        all.lock();
        assertThat(store.counts()).containsOnlyKeys(Verb.TRY_ACQUIRE_ALL);
        assertThat(store.total()).isEqualTo(1);
        for (String name : NAMES) {
            assertThat(rival.lock(name).tryLock()).isFalse();
            assertThat(locks.lock(name).isHeldByCurrentThread()).isTrue();
        }
        all.unlock();
        assertUnused();
    }

    @Test
    void tryLockTakesAllOrNothing() {
        c.run(rival.lock("y")::lock);
        assertThat(a.get(() -> all.tryLock())).isFalse();
        assertThat(isUnused("x")).isTrue();
        assertThat(isUnused("z")).isTrue();
        c.run(rival.lock("y")::unlock);
        assertThat(a.get(() -> all.tryLock())).isTrue();
        a.run(all::unlock);
        assertUnused();
    }

    private CompletableFuture<Void> unlockWhileAllReleasesMeet(Fault fault) {
        a.run(all::lock);
        network.next(Verb.RELEASE, fault, fault, fault);
        CompletableFuture<Void> unlocking = a.begin(all::unlock);
        Wait.until("all releases are under way", () -> network.hanging() == 3);
        return unlocking;
    }

    /** All are on their way before the first is answered. */
    @Test
    void theNamesAreReleasedInParallel() {
        CompletableFuture<Void> unlocking = unlockWhileAllReleasesMeet(Fault.HANG_REPLY);
        network.letGo();
        Actor.end(unlocking);
        assertUnused();
    }

    @Test
    void anInterruptEndsAnAttemptThatIsNotAnswered() {
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.HANG);
        CompletableFuture<Void> locking = a.parkIn(all::lockInterruptibly);
        a.interrupt();
        Actor.failure(InterruptedException.class, locking);
        network.letGo();
        assertUnused();
    }

    @Test
    void aThousandNamesAreReentered() {
        List<String> names = IntStream.range(0, 1_000).mapToObj(i -> "name" + i).toList();
        DistributedLock thousand = locks.multiLock(names, LockOptions.defaults());
        a.run(thousand::lock);
        a.run(thousand::lock);
        assertThat(a.get(thousand::holdCount)).isEqualTo(2);
        a.run(thousand::unlock);
        a.run(thousand::unlock);
        assertThat(locks.list("name", 10)).isEmpty();
    }

    /**
     * While it waits for a name that is not free, it holds the names before this one and none of the names after
     * it.
     */
    @Test
    void namesAreTakenInTheOrderOfTheirBytes() {
        c.run(rival.lock("y")::lock);
        CompletableFuture<Void> waiting = a.parkIn(all::lock);
        clock.settle();
        assertThat(holders("x")).isEqualTo(1);
        assertThat(waiters("y")).isEqualTo(1);
        assertThat(isUnused("z")).isTrue();
        c.run(rival.lock("y")::unlock);
        Actor.end(waiting);
        a.run(all::unlock);
        assertUnused();
    }

    @Test
    void multiLocksOfOverlappingNamesDoNotBlockEachOtherForEver() {
        DistributedLock theirs = rival.multiLock("y", "z", "x");
        for (int round = 0; round < 100; round++) {
            CompletableFuture<Void> mine = a.begin(() -> {
                all.lock();
                all.unlock();
            });
            CompletableFuture<Void> other = c.begin(() -> {
                theirs.lock();
                theirs.unlock();
            });
            Actor.end(mine);
            Actor.end(other);
        }
        assertUnused();
    }

    @Test
    void membersThatAreHeldAreRenewedWhileOthersAreWaitedFor() {
        DistributedLock fixed = with(LockOptions.defaults().withFixedLease(LEASE));
        c.run(rival.lock("z")::lock);
        CompletableFuture<Void> waiting = a.parkIn(fixed::lock);
        pass(LEASE.multipliedBy(2));
        assertThat(holders("x")).isEqualTo(1);
        assertThat(holders("y")).isEqualTo(1);
        assertThat(waiting).isNotDone();
        c.run(rival.lock("z")::unlock);
        Actor.end(waiting);
        a.run(fixed::unlock);
        assertUnused();
    }

    @Test
    void aFixedLeaseBeginsWhenAllAreHeldAndIsNotRenewedAfterThat() {
        DistributedLock fixed = with(LockOptions.defaults().withFixedLease(LEASE));
        c.run(rival.lock("z")::lock);
        CompletableFuture<Lease> waiting = a.park(() -> fixed.acquire());
        pass(Duration.ofSeconds(25));
        c.run(rival.lock("z")::unlock);
        Lease lease = Actor.end(waiting);
        assertThat(lease.remaining()).isBetween(Duration.ofSeconds(29), LEASE);
        pass(Duration.ofSeconds(29));
        assertThat(lease.isValid()).isTrue();
        pass(Duration.ofSeconds(1));
        assertThat(lease.state()).isEqualTo(LeaseState.LOST);
        assertUnused();
    }

    /** The user would work for a whole lease, but one name is held for only a part of it. */
    @Test
    void aFixedLeaseThatCannotBeBegunForOneNameFailsAndRollsBack() {
        ForwardingStore failingForOne = new ForwardingStore(memory) {
            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                Renewed failed = new Renewed.Failed(StoreException.unavailable(Effect.NONE, "the row is locked", null));
                return super.renew(claims)
                        .thenApply(answers -> Stream.concat(
                                        answers.stream().limit(answers.size() - 1), Stream.of(failed))
                                .toList());
            }
        };
        DistributedLock fixed =
                client(failingForOne).multiLock(NAMES, LockOptions.defaults().withFixedLease(LEASE));
        c.run(rival.lock("z")::lock);
        CompletableFuture<Lease> waiting = a.park(() -> fixed.acquire());
        c.run(rival.lock("z")::unlock);
        Actor.failure(StoreUnavailableException.class, waiting);
        assertUnused();
    }

    @Test
    void maxHoldBeginsWhenAllAreHeld() {
        DistributedLock bounded = with(LockOptions.defaults().withMaxHold(Duration.ofSeconds(20)));
        c.run(rival.lock("z")::lock);
        CompletableFuture<Lease> waiting = a.park(() -> bounded.acquire());
        pass(Duration.ofSeconds(25));
        c.run(rival.lock("z")::unlock);
        Lease lease = Actor.end(waiting);
        pass(Duration.ofMillis(19_999));
        assertThat(lease.isValid()).isTrue();
        pass(Duration.ofMillis(1));
        assertThat(lease.isValid()).isFalse();
        assertUnused();
    }

    @Test
    void aWaitThatTimesOutRollsBackAndLeavesNothing() {
        c.run(rival.lock("z")::lock);
        CompletableFuture<Boolean> locking = a.park(() -> all.tryLock(5, TimeUnit.SECONDS));
        CompletableFuture<Lease> leasing = b.park(() -> all.acquire(Duration.ofSeconds(5)));
        pass(Duration.ofSeconds(5));
        assertThat(Actor.end(locking)).isFalse();
        assertThat(Actor.failure(LockTimeoutException.class, leasing)).hasMessageContaining("x,y,z");
        awaitUnused("x");
        awaitUnused("y");
        awaitWaiters("z", 0);
        c.run(rival.lock("z")::unlock);
    }

    /** A name that is granted at the very end of the wait leaves no time for the next one: not even the least. */
    @Test
    void aNameThatIsGrantedWhenTheTimeIsOverIsTheLast() {
        ForwardingStore slow = new ForwardingStore(memory) {
            @Override
            public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
                if (claim.name().value().equals("y")) {
                    clock.advance(Duration.ofSeconds(5));
                }
                return super.enqueue(claim, listener);
            }
        };
        DistributedLock slowly = client(slow).multiLock(NAMES, LockOptions.defaults());
        c.run(rival.lock("z")::lock);
        assertThat(a.get(() -> slowly.tryLock(5, TimeUnit.SECONDS))).isFalse();
        awaitUnused("x");
        awaitUnused("y");
        awaitWaiters("z", 0);
        c.run(rival.lock("z")::unlock);
    }

    @Test
    void anInterruptRollsBackAndLeavesNothing() {
        c.run(rival.lock("z")::lock);
        CompletableFuture<Void> locking = a.parkIn(all::lockInterruptibly);
        a.interrupt();
        Actor.failure(InterruptedException.class, locking);
        awaitUnused("x");
        awaitUnused("y");
        awaitWaiters("z", 0);
        c.run(rival.lock("z")::unlock);
    }

    /** The first name takes six seconds and the second one six: together more than the limit of ten. */
    @Test
    void allNamesShareOneTimeBudget() {
        c.run(rival.lock("x")::lock);
        c.run(rival.lock("y")::lock);
        CompletableFuture<Boolean> locking = a.park(() -> all.tryLock(10, TimeUnit.SECONDS));
        pass(Duration.ofSeconds(6));
        c.run(rival.lock("x")::unlock);
        awaitWaiters("y", 1);
        assertThat(locking).isNotDone();
        pass(Duration.ofSeconds(4));
        assertThat(Actor.end(locking)).isFalse();
        awaitUnused("x");
        c.run(rival.lock("y")::unlock);
    }

    @Test
    void itIsReentrantAndReentersNamesThatTheThreadHoldsAlready() {
        DistributedLock y = locks.lock("y");
        y.lock();
        long token = y.token();
        all.lock();
        all.lock();
        assertThat(all.holdCount()).isEqualTo(2);
        assertThat(y.holdCount()).isEqualTo(3);
        assertThat(y.token()).isEqualTo(token);
        assertThat(all.tryLock()).isTrue();
        all.unlock();
        all.unlock();
        all.unlock();
        assertThat(all.isHeldByCurrentThread()).isFalse();
        assertThat(y.isHeldByCurrentThread()).isTrue();
        assertThat(isUnused("x")).isTrue();
        y.unlock();
        assertUnused();
    }

    /** The rollback releases what this call acquired, and not what the thread held before. */
    @Test
    void aRollbackKeepsWhatTheThreadHeldBefore() {
        DistributedLock y = locks.lock("y");
        c.run(rival.lock("z")::lock);
        a.run(y::lock);
        assertThat(a.get(() -> all.tryLock())).isFalse();
        assertThat(a.get(y::holdCount)).isEqualTo(1);
        assertThat(isUnused("x")).isTrue();
        a.run(y::unlock);
        c.run(rival.lock("z")::unlock);
    }

    /** What the thread has locked before is lost while the rest is waited for: it does not hold all of them. */
    @Test
    void aNameThatTheThreadHeldBeforeAndLosesMeanwhileFailsIt() {
        DistributedLock x = locks.lock("x", LockOptions.defaults().withFixedLease(LEASE));
        c.run(rival.lock("y")::lock);
        a.run(x::lock);
        CompletableFuture<Void> waiting = a.parkIn(locks.multiLock("x", "y")::lock);
        pass(LEASE);
        c.run(rival.lock("y")::unlock);
        assertThat(Actor.failure(LockLostException.class, waiting))
                .hasMessageContaining("\"x\"")
                .extracting(LockLostException::reason)
                .isEqualTo(LossReason.EXPIRED);
        awaitUnused("y");
        assertThat(a.get(x::holdCount)).isEqualTo(1);
        assertThat(a.get(locks.lock("y")::holdCount)).isZero();
        Actor.failure(LockLostException.class, a.begin(x::unlock));
        assertUnused();
    }

    /** Though a name that comes before is not free, and would be waited for first. */
    @Test
    void whatWouldWaitForItselfFailsAtOnce() {
        DistributedLock once = with(LockOptions.defaults().withReentrant(false));
        DistributedLock y = locks.lock("y");
        c.run(rival.lock("x")::lock);
        a.run(y::lock);
        store.reset();
        assertThat(Actor.failure(LockException.class, a.start(() -> all.acquire())))
                .hasMessageContaining("\"y\"");
        Actor.failure(LockException.class, a.start(() -> all.acquire(Duration.ofDays(1))));
        assertThat(a.get(() -> all.tryAcquire())).isEmpty();
        Actor.failure(LockException.class, a.begin(once::lock));
        Actor.failure(LockException.class, a.start(() -> once.tryLock(1, TimeUnit.DAYS)));
        assertThat(a.get(() -> once.tryLock())).isFalse();
        assertThat(store.total()).isZero();
        a.run(y::unlock);
        c.run(rival.lock("x")::unlock);
        assertUnused();
    }

    @Test
    void eachNameHasATokenOfItsOwn() throws InterruptedException {
        try (Lease lease = all.acquire()) {
            assertThat(lease.names()).isEqualTo(NAMES);
            for (String name : NAMES) {
                assertThat(lease.token(name) >> 10)
                        .isEqualTo(rival.state(name).orElseThrow().counter());
            }
            assertThatIllegalStateException().isThrownBy(lease::token).withMessageContaining("token(name)");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> lease.token("w"))
                    .withMessageContaining("w");
        }
        all.lock();
        assertThatIllegalStateException().isThrownBy(all::token);
        all.unlock();
        DistributedLock single = locks.multiLock("x");
        single.lock();
        assertThat(single.token()).isPositive();
        single.unlock();
    }

    @Test
    void theLossOfOneNameIsReportedOnceThoughAllAreLost() throws InterruptedException {
        Queue<LossReason> option = new ConcurrentLinkedQueue<>();
        Queue<LossReason> listener = new ConcurrentLinkedQueue<>();
        Lease lease = with(LockOptions.defaults().withOnLost(option::add)).acquire();
        lease.onLost(listener::add);
        rival.lock("y").forceRelease();
        pass(Duration.ofSeconds(10));
        assertThat(lease.state()).isEqualTo(LeaseState.LOST);
        Wait.until("the loss was reported", () -> !option.isEmpty() && !listener.isEmpty());
        assertThat(lease.remaining()).isZero();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(lease::release)
                .withMessageContaining("y");
        rival.multiLock("x", "z").lock();
        rival.multiLock("x", "z").unlock();
        awaitCallbacks(locks);
        assertThat(option).containsExactly(LossReason.BROKEN);
        assertThat(listener).containsExactly(LossReason.BROKEN);
        assertUnused();
    }

    @Test
    void theLossOfAllNamesAtOnceIsReportedOnce() throws InterruptedException {
        Queue<LossReason> reported = new ConcurrentLinkedQueue<>();
        for (boolean waits : new boolean[] {false, true}) {
            reported.clear();
            DistributedLock fixed =
                    with(LockOptions.defaults().withFixedLease(LEASE).withOnLost(reported::add));
            if (waits) {
                c.run(rival.lock("z")::lock);
            }
            CompletableFuture<Lease> taking = a.start(() -> fixed.acquire());
            if (waits) {
                awaitWaiters("z", 1);
                c.run(rival.lock("z")::unlock);
            }
            Lease lease = Actor.end(taking);
            clock.advanceAndSettle(LEASE);
            assertUnused();
            assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::release);
            Wait.until("the loss was reported", () -> !reported.isEmpty());
            awaitCallbacks(locks);
            assertThat(reported).containsExactly(LossReason.EXPIRED);
        }
    }

    /** Callbacks go to a queue of the test, which counts the interrupts. */
    @Test
    void theLossOfAllNamesAtOnceInterruptsTheThreadOnce() {
        Queue<Runnable> callbacks = new ConcurrentLinkedQueue<>();
        Holdfast mine = client(Holdfast.builder().store(memory).callbacks(callbacks::add));
        DistributedLock bounded =
                mine.multiLock(NAMES, LockOptions.defaults().withMaxHold(SHORT).withInterruptOnLoss(true));
        for (boolean waits : new boolean[] {false, true}) {
            if (waits) {
                c.run(rival.lock("z")::lock);
            }
            CompletableFuture<Void> locking = a.begin(bounded::lock);
            if (waits) {
                awaitWaiters("z", 1);
                c.run(rival.lock("z")::unlock);
            }
            Actor.end(locking);
            clock.advanceAndSettle(SHORT);
            assertUnused();
            awaitCallbacks(mine);
            List<Boolean> interrupts = a.get(() -> {
                List<Boolean> found = new ArrayList<>();
                for (Runnable call = callbacks.poll(); call != null; call = callbacks.poll()) {
                    call.run();
                    found.add(Thread.interrupted());
                }
                return found;
            });
            assertThat(interrupts).containsOnlyOnce(true);
            Actor.failure(LockLostException.class, a.begin(bounded::unlock));
        }
    }

    @Test
    void extendProlongsAllNames() throws InterruptedException {
        try (Lease lease = all.acquire()) {
            lease.extend(Duration.ofHours(1));
            for (String name : NAMES) {
                assertThat(rival.state(name).orElseThrow().holders().get(0).remaining())
                        .isEqualTo(Duration.ofHours(1));
            }
            assertThat(lease.remaining()).isGreaterThan(Duration.ofMinutes(59));
        }
        assertUnused();
    }

    @Test
    void unlockWithoutHoldingAllNamesIsRefusedAndGivesNothingUp() {
        locks.lock("x").lock();
        assertThatExceptionOfType(IllegalMonitorStateException.class)
                .isThrownBy(all::unlock)
                .withMessageContaining("x,y,z");
        assertThat(locks.lock("x").holdCount()).isEqualTo(1);
        locks.lock("x").unlock();
    }

    @Test
    void noNameAndTheSameNameTwiceAreRefused() {
        assertThatIllegalArgumentException().isThrownBy(locks::multiLock).withMessageContaining("at least one");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.multiLock("x", "y", "x"))
                .withMessageContaining("twice");
        assertThat(store.total()).isZero();
    }

    @Test
    void stateAndConditionsAreNotThereAndTheMessagesSaySo() {
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(all::state);
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(all::newCondition);
        assertThat(all.name()).isEqualTo("x,y,z");
    }

    @Test
    void forceReleaseBreaksAllNames() {
        c.run(all::lock);
        assertThat(rival.multiLock("x", "y", "z").forceRelease()).isEqualTo(3);
        assertUnused();
        Actor.failure(LockLostException.class, c.begin(all::unlock));
    }

    @Test
    void aTimedWaitEndsInTimeAlsoWhenTheStoreDoesNotAnswer() {
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.HANG);
        network.next(Verb.TRY_ACQUIRE, Fault.HANG);
        network.next(Verb.ENQUEUE, Fault.HANG);
        CompletableFuture<Boolean> trying = a.park(() -> all.tryLock(1, TimeUnit.SECONDS));
        pass(Duration.ofSeconds(2));
        assertThat(Actor.end(trying)).isFalse();
        network.letGo();
        assertUnused();
    }

    /** Not one after the other. */
    @Test
    void theAnswersToAllReleasesAreAwaitedTogether() {
        CompletableFuture<Void> unlocking = unlockWhileAllReleasesMeet(Fault.HANG);
        Wait.until("it waits for the answers", () -> clock.isParked(a.thread()));
        clock.advance(Duration.ofSeconds(10));
        Actor.end(unlocking);
        network.letGo();
        assertUnused();
    }

    /** The user holds nothing yet, so that there is nothing to be interrupted for, and nothing that may have overlapped. */
    @Test
    void aNameThatIsLostWhileAnotherIsWaitedForIsTakenAnew() {
        DistributedLock interrupting = with(LockOptions.defaults().withInterruptOnLoss(true));
        c.run(rival.lock("z")::lock);
        CompletableFuture<Void> waiting = a.parkIn(interrupting::lockInterruptibly);
        clock.settle();
        rival.lock("x").forceRelease();
        pass(LEASE.dividedBy(2));
        assertThat(isUnused("x")).isTrue();
        c.run(rival.lock("z")::unlock);
        Actor.end(waiting);
        for (String name : NAMES) {
            assertThat(holders(name)).as(name).isEqualTo(1);
            assertThat(a.get(() -> locks.lock(name).holdCount())).as(name).isEqualTo(1);
        }
        a.run(interrupting::unlock);
        assertUnused();
    }

    /** The store has ended what it granted, and granted one of the names to somebody else here. */
    @Test
    void anAnswerThatComesLatePushesNobodyOut() {
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.HANG_REPLY);
        CompletableFuture<Boolean> trying = a.start(() -> all.tryLock());
        Wait.until("the answer hangs", () -> network.hanging() == 1);
        NAMES.forEach(name -> rival.lock(name).forceRelease());
        Lease newer = b.get(() -> locks.lock("y").acquire());
        network.letGo();
        assertThat(Actor.end(trying)).isFalse();
        assertThat(newer.state()).isEqualTo(LeaseState.SAFE);
        newer.release();
        assertUnused();
    }

    /** The first attempt was granted, but its answer was lost, and the answer to the last one says how little is left. */
    @Test
    void aFixedLeaseThatIsNearlyOverIsNotHandedOut() {
        Duration shortLease = Duration.ofSeconds(2);
        DistributedLock fixed = with(LockOptions.defaults().withFixedLease(shortLease));
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.DROP_REPLY, Fault.REFUSE, Fault.REFUSE, Fault.REFUSE, Fault.REFUSE);
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.REFUSE, Fault.REFUSE, Fault.REFUSE);
        CompletableFuture<Optional<Lease>> trying = a.start(fixed::tryAcquire);
        clock.advanceUntil("it has ended", Duration.ofMillis(10), trying::isDone);
        Actor.end(trying).ifPresent(lease -> {
            assertThat(lease.remaining()).isGreaterThan(shortLease.dividedBy(2).minusMillis(50));
            lease.release();
        });
        assertUnused();
    }

    /** What comes too late goes back, but for a name that another thread here has taken over meanwhile. */
    @Test
    void whatIsPassedOnAfterAnAnswerThatComesLateIsNotReleased() {
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.HANG_REPLY);
        CompletableFuture<Boolean> trying = a.start(() -> all.tryLock());
        Wait.until("the answer hangs", () -> network.hanging() == 1);
        CompletableFuture<Void> next = b.parkIn(locks.lock("x")::lock);
        rival.lock("y").forceRelease();
        Lease newer = c.get(() -> locks.lock("y").acquire());
        network.letGo();
        assertThat(Actor.end(trying)).isFalse();
        Actor.end(next);
        clock.settle();
        assertThat(rival.lock("x").tryLock()).isFalse();
        b.run(locks.lock("x")::unlock);
        newer.release();
        assertUnused();
    }

    /** A store that forgets each claim when its lease is to begin. */
    private DistributedLock forgotten() {
        ForwardingStore forgetful = new ForwardingStore(memory) {
            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                claims.forEach(memory::release);
                return super.renew(claims);
            }
        };
        Holdfast client = client(forgetful);
        LockOptions fixed = LockOptions.defaults().withFixedLease(LEASE);
        // A name that is held already makes it take the names one by one.
        a.run(client.lock("y", fixed)::lock);
        return client.multiLock(NAMES, fixed);
    }

    @Test
    void namesThatAreLostAgainAndAgainEndAnAttempt() {
        DistributedLock forgotten = forgotten();
        assertThat(a.get(() -> forgotten.tryLock())).isFalse();
    }

    @Test
    void namesThatAreLostAgainAndAgainEndAWaitWithoutALimit() {
        DistributedLock forgotten = forgotten();
        Actor.failure(LockLostException.class, a.begin(forgotten::lock));
    }
}
