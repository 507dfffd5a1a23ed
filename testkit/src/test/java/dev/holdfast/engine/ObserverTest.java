package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedLock;
import dev.holdfast.Engines;
import dev.holdfast.FenceGuard;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LockObserver;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.internal.Callbacks;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tests of the notifications of an observer, and of the check of fencing tokens. */
class ObserverTest extends EngineFixture {

    /** Records its notifications as text, and then throws if it is configured to. */
    private static final class RecordingObserver implements LockObserver {
        private final Queue<String> events = new ConcurrentLinkedQueue<>();
        private final boolean throwing;

        private RecordingObserver(boolean throwing) {
            this.throwing = throwing;
        }

        private void write(String event) {
            events.add(event);
            if (throwing) {
                Thread.currentThread().setUncaughtExceptionHandler((thread, expected) -> {});
                throw new IllegalStateException("an observer's own failure");
            }
        }

        @Override
        public void acquireEnded(String name, Outcome outcome, Duration waited) {
            write(name + " " + outcome + " " + waited.toMillis());
        }

        @Override
        public void released(String name, Duration held) {
            write(name + " released " + held.toMillis());
        }

        @Override
        public void handedOff(String name, int times) {
            write(name + " handed off " + times);
        }

        @Override
        public void renewed(int claims, int failed, Duration took) {
            write("renewed " + claims + " failed " + failed);
        }

        @Override
        public void lost(String name, LossReason reason) {
            write(name + " lost " + reason);
        }
    }

    private final RecordingObserver observer = new RecordingObserver(false);
    private final Holdfast observed = client(Holdfast.builder().store(network).observer(observer));
    private final DistributedLock lock = observed.lock("seen");

    private void assertEvents(String... events) {
        Wait.until("all events were reported", () -> observer.events.size() >= events.length);
        assertThat(observer.events).containsExactly(events);
        observer.events.clear();
    }

    @Test
    void everyOutcomeOfAnAcquisitionIsReported() {
        a.run(lock::lock);
        assertThat(b.get(() -> lock.tryLock())).isFalse();
        CompletableFuture<Boolean> timed = b.park(() -> lock.tryLock(5, TimeUnit.MILLISECONDS));
        clock.advance(Duration.ofMillis(5));
        Actor.end(timed);
        CompletableFuture<Void> interrupted = b.parkIn(lock::lockInterruptibly);
        clock.advance(Duration.ofMillis(1));
        b.interrupt();
        Actor.failure(InterruptedException.class, interrupted);
        CompletableFuture<Lease> cancelled = lock.acquireAsync();
        cancelled.cancel(false);
        Wait.until("the cancellation was reported", () -> observer.events.size() == 5);
        a.run(lock::unlock);
        assertEvents(
                "seen ACQUIRED 0",
                "seen BUSY 0",
                "seen TIMED_OUT 5",
                "seen INTERRUPTED 1",
                "seen CANCELLED 0",
                "seen released 6");
    }

    @Test
    void theKindAndTheRequestsAndLateRenewalsAreReported() {
        Queue<String> events = new ConcurrentLinkedQueue<>();
        Holdfast detailed = client(Holdfast.builder().store(network).observer(new LockObserver() {
            @Override
            public void acquireEnded(String name, Kind kind, Outcome outcome, Duration waited) {
                events.add(kind + " " + outcome);
            }

            @Override
            public void requestEnded(Request request, boolean failed, Duration took) {
                events.add(request + (failed ? " failed" : ""));
            }

            @Override
            public void renewalLate(String name, Duration remaining) {
                events.add(name + " late, left " + remaining.toSeconds());
            }
        }));
        a.run(() -> {
            detailed.readWriteLock("rw").readLock().lock();
            detailed.readWriteLock("rw").readLock().unlock();
            detailed.readWriteLock("rw").writeLock().lock();
            detailed.readWriteLock("rw").writeLock().unlock();
            detailed.semaphore("few", 3).tryAcquire(2).orElseThrow().release();
            detailed.multiLock("one", "two").tryAcquire().orElseThrow().release();
            detailed.lock("held").lock();
        });
        Wait.until(
                "all were reported",
                () -> events.stream().filter("RELEASE"::equals).count() == 5);
        assertThat(events)
                .contains("READ ACQUIRED", "WRITE ACQUIRED", "PERMITS ACQUIRED", "MUTEX ACQUIRED", "TRY_ACQUIRE_ALL");
        assertThat(detailed.heldCount()).isEqualTo(1);
        assertThat(detailed.list("", 10)).containsExactly("held");
        CompletableFuture<Void> waiting = b.parkIn(detailed.lock("held")::lock);
        assertThat(detailed.waitingCount()).isEqualTo(1);
        network.partition();
        clock.advance(LEASE.multipliedBy(6).dividedBy(10));
        Wait.until(
                "the late renewal was reported",
                () -> events.stream().anyMatch(event -> event.startsWith("held late")));
        Wait.until("the waiter's failed request was reported", () -> events.contains("ENQUEUE failed"));
        network.heal();
        a.run(detailed.lock("held")::unlock);
        // The partition has lost the waiter's request, and it asks again after a pause.
        clock.advanceUntil("the waiter has asked again", Duration.ofMillis(10), waiting::isDone);
        Actor.end(waiting);
        b.run(detailed.lock("held")::unlock);
        assertThat(detailed.heldCount()).isZero();
        Wait.until(
                "the list and the waiter's second request were reported",
                () -> events.contains("LIST") && events.contains("ENQUEUE"));
    }

    @Test
    void permitsOfASemaphoreAreReportedAsSuchAlsoIfItHasOneOnly() {
        Queue<LockObserver.Kind> kinds = new ConcurrentLinkedQueue<>();
        LockObserver hears = new LockObserver() {
            @Override
            public void acquireEnded(String name, Kind kind, Outcome outcome, Duration waited) {
                kinds.add(kind);
            }
        };
        Holdfast client = client(Holdfast.builder().store(network).observer(hears));
        client.semaphore("single", 1).tryAcquire().orElseThrow().release();
        client.lock("mutex").tryAcquire().orElseThrow().release();
        Wait.until("both were reported", () -> kinds.size() == 2);
        assertThat(kinds).containsExactly(LockObserver.Kind.PERMITS, LockObserver.Kind.MUTEX);
    }

    /** Before, what came after the close was kept, up to ten thousand events. */
    @Test
    void eventsAfterTheCloseAreDropped() {
        Callbacks callbacks = Engines.of(observed).callbacks();
        observed.close();
        for (int i = 0; i < 3; i++) {
            callbacks.observe(heard -> heard.handedOff("too late", 1));
        }
        awaitCallbacks(observed);
    }

    /** Each acquisition that begins ends once, on whichever way, and is not reported a second time by the other method. */
    @Test
    void whatIsReportedWhenItBeginsIsNotifiedOfItsEnd() {
        Queue<String> events = new ConcurrentLinkedQueue<>();
        Holdfast traced = client(Holdfast.builder().store(network).observer(new LockObserver() {
            @Override
            public Acquisition acquireStarted(String name, Kind kind) {
                Thread starter = Thread.currentThread();
                String begun = name + " " + kind;
                events.add(begun);
                return (outcome, waited) -> events.add(
                        begun + " " + outcome + (Thread.currentThread() == starter ? " here" : " elsewhere"));
            }

            @Override
            public void acquireEnded(String name, Outcome outcome, Duration waited) {
                events.add(name + " was not begun");
            }
        }));
        DistributedLock lock = traced.lock("one");
        a.run(lock::lock);
        a.run(lock::lock);
        assertThat(b.get(() -> lock.tryLock())).isFalse();
        CompletableFuture<Void> waiting = b.parkIn(lock::lock);
        assertThat(events)
                .containsExactly(
                        "one MUTEX", "one MUTEX ACQUIRED here", "one MUTEX", "one MUTEX BUSY here", "one MUTEX");
        a.run(lock::unlock);
        a.run(lock::unlock);
        Actor.end(waiting);
        events.clear();
        b.run(traced.multiLock("one", "two")::lock);
        assertThat(events).containsExactly("two MUTEX", "two MUTEX ACQUIRED here");
        events.clear();
        CompletableFuture<Lease> future =
                a.get(() -> traced.multiLock("one", "three").acquireAsync());
        assertThat(events).containsExactly("one MUTEX", "three MUTEX");
        future.cancel(false);
        Wait.until("the cancel was reported", () -> events.size() == 4);
        assertThat(events).contains("one MUTEX CANCELLED elsewhere", "three MUTEX CANCELLED elsewhere");
        events.clear();
        Actor.end(traced.semaphore("few", 2).acquireAsync(1)).release();
        assertThat(events).containsExactly("few PERMITS", "few PERMITS ACQUIRED elsewhere");
    }

    @Test
    void anObserverThatFailsAtTheBeginningIsNotifiedOfTheEndAllTheSame() {
        Queue<Outcome> ends = new ConcurrentLinkedQueue<>();
        Holdfast mine = client(Holdfast.builder().store(network).observer(new LockObserver() {
            @Override
            public Acquisition acquireStarted(String name, Kind kind) {
                Thread.currentThread().setUncaughtExceptionHandler((thread, expected) -> {});
                throw new NoClassDefFoundError("an observer's own failure");
            }

            @Override
            public void acquireEnded(String name, Outcome outcome, Duration waited) {
                ends.add(outcome);
            }
        }));
        a.run(mine.lock("seen")::lock);
        a.run(mine.lock("seen")::unlock);
        assertThat(ends).containsExactly(Outcome.ACQUIRED);
    }

    /** Of several some begin something, and others do not; the first fails each time. Each learns of each event once, in their order. */
    @Test
    void eachOfSeveralObserversIsNotified() {
        Queue<String> heard = new ConcurrentLinkedQueue<>();
        LockObserver fails = new LockObserver() {
            @Override
            public Acquisition acquireStarted(String name, Kind kind) {
                throw fail("begin");
            }

            @Override
            public void acquireEnded(String name, Outcome outcome, Duration waited) {
                throw fail("end");
            }

            @Override
            public void released(String name, Duration held) {
                throw fail("release");
            }

            @Override
            public void lost(String name, LossReason reason) {
                throw fail("loss");
            }

            private LinkageError fail(String what) {
                Thread.currentThread().setUncaughtExceptionHandler((thread, expected) -> heard.add("reported"));
                return new LinkageError("an observer's own failure at the " + what);
            }
        };
        LockObserver begins = new LockObserver() {
            @Override
            public Acquisition acquireStarted(String name, Kind kind) {
                heard.add("begun");
                return (outcome, waited) -> heard.add("ended what was begun");
            }

            @Override
            public void acquireEnded(String name, Outcome outcome, Duration waited) {
                heard.add("twice");
            }
        };
        LockObserver doesNot = new LockObserver() {
            @Override
            public void acquireEnded(String name, Outcome outcome, Duration waited) {
                heard.add("only the end");
            }

            @Override
            public void released(String name, Duration held) {
                heard.add("released");
            }

            @Override
            public void lost(String name, LossReason reason) {
                heard.add("lost");
            }
        };
        Holdfast mine = client(Holdfast.builder()
                .store(network)
                .observer(fails)
                .observer(begins)
                .observer(LockObserver.NONE)
                .observer(doesNot)
                .observer(begins));
        a.run(mine.lock("seen")::lock);
        assertThat(heard).containsExactly("reported", "begun", "reported", "ended what was begun", "only the end");
        heard.clear();
        a.run(mine.lock("seen")::unlock);
        assertThat(heard).containsExactly("reported", "released");
        heard.clear();
        a.run(mine.multiLock("seen", "too")::lock);
        assertThat(heard)
                .containsExactly(
                        "reported",
                        "begun",
                        "reported",
                        "begun",
                        "reported",
                        "ended what was begun",
                        "only the end",
                        "reported",
                        "ended what was begun",
                        "only the end");
        heard.clear();
        mine.close();
        awaitCallbacks(mine);
        assertThat(heard).containsExactly("reported", "lost", "reported", "lost");
        Actor.failure(LockLostException.class, a.begin(mine.multiLock("seen", "too")::unlock));
    }

    @Test
    void aFailureIsReported() {
        DistributedLock hasty = observed.lock("seen", LockOptions.defaults().withStoreTimeout(Duration.ofMillis(1)));
        network.next(Verb.TRY_ACQUIRE, Fault.REFUSE);
        Actor.failure(StoreUnavailableException.class, a.start(hasty::tryLock));
        assertEvents("seen FAILED 0");
    }

    @Test
    void aMultiLockReportsEachOfItsNames() {
        DistributedLock several = observed.multiLock("one", "two");
        a.run(several::lock);
        assertThat(b.get(() -> several.tryLock())).isFalse();
        a.run(several::unlock);
        assertEvents(
                "one ACQUIRED 0", "two ACQUIRED 0", "one BUSY 0", "two BUSY 0", "two released 0", "one released 0");
    }

    private void assertEventsWithoutRenewals(String... events) {
        awaitCallbacks(observed);
        observer.events.removeIf(event -> event.startsWith("renewed"));
        assertEvents(events);
    }

    /** The user never had the name that was free. */
    @Test
    void aMultiLockThatIsNotFreeInTimeReportsNoHold() {
        DistributedLock several = observed.multiLock("one", "two");
        c.run(rival.lock("two")::lock);
        CompletableFuture<Boolean> timed = a.park(() -> several.tryLock(5, TimeUnit.MILLISECONDS));
        clock.advance(Duration.ofMillis(5));
        Actor.end(timed);
        awaitUnused("one");
        assertEventsWithoutRenewals("one TIMED_OUT 5", "two TIMED_OUT 5");
        c.run(rival.lock("two")::unlock);
    }

    @Test
    void aNameOfAMultiLockThatIsTakenAnewReportsNoLoss() {
        DistributedLock several = observed.multiLock("one", "two");
        c.run(rival.lock("two")::lock);
        CompletableFuture<Void> waiting = a.parkIn(several::lock);
        rival.lock("one").forceRelease();
        pass(LEASE.dividedBy(3));
        c.run(rival.lock("two")::unlock);
        Actor.end(waiting);
        assertEventsWithoutRenewals("one ACQUIRED 10000", "two ACQUIRED 10000");
        rival.lock("one").forceRelease();
        pass(LEASE.dividedBy(3));
        assertEventsWithoutRenewals("one lost BROKEN");
        Actor.failure(LockLostException.class, a.begin(several::unlock));
    }

    @Test
    void aMultiLockThatFailsReportsNoNameThatTheThreadHeldBefore() {
        DistributedLock several = observed.multiLock("one", "two");
        c.run(rival.lock("two")::lock);
        a.run(observed.lock("one")::lock);
        assertEvents("one ACQUIRED 0");
        assertThat(a.get(() -> several.tryLock())).isFalse();
        assertEventsWithoutRenewals("two BUSY 0");
        a.run(observed.lock("one")::unlock);
        c.run(rival.lock("two")::unlock);
    }

    @Test
    void reentryIsNotReportedAndAHandOffIsReportedWhenTheGrantGoesBack() {
        a.run(lock::lock);
        a.run(lock::lock);
        CompletableFuture<Void> waiting = b.parkIn(lock::lock);
        clock.advance(Duration.ofMillis(3));
        a.run(lock::unlock);
        a.run(lock::unlock);
        Actor.end(waiting);
        b.run(lock::unlock);
        Wait.until("the hand-off was reported", () -> observer.events.contains("seen handed off 1"));
        assertThat(observer.events)
                .containsExactlyInAnyOrder(
                        "seen ACQUIRED 0",
                        "seen released 3",
                        "seen ACQUIRED 3",
                        "seen handed off 1",
                        "seen released 0");
    }

    @Test
    void renewalsAreReportedWithTheirFailures() throws InterruptedException {
        Lease first = lock.acquire();
        Lease second = observed.lock("seen too").acquire();
        observer.events.clear();
        network.next(Verb.RENEW, Fault.DROP_REQUEST);
        clock.advanceAndSettle(Duration.ofSeconds(10));
        clock.advanceAndSettle(Duration.ofSeconds(2));
        assertEvents("renewed 2 failed 2", "renewed 2 failed 0");
        first.release();
        second.release();
    }

    @Test
    void aLossIsReportedOnce() throws InterruptedException {
        Lease lease = observed.lock("seen", LockOptions.defaults().withFixedLease(LEASE))
                .acquire();
        clock.advance(LEASE);
        Wait.until("the loss was reported", () -> observer.events.contains("seen lost EXPIRED"));
        assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::release);
        assertEvents("seen ACQUIRED 0", "seen lost EXPIRED", "seen released 30000");
    }

    @Test
    void aLossByMaxHoldIsReportedOnceHoweverOftenItsOwnerUnlocks() {
        DistributedLock bounded = observed.lock("seen", LockOptions.defaults().withMaxHold(Duration.ofSeconds(5)));
        a.run(bounded::lock);
        a.run(bounded::lock);
        clock.advance(Duration.ofSeconds(5));
        Wait.until("the loss was reported", () -> observer.events.contains("seen lost EXPIRED"));
        Actor.failure(LockLostException.class, a.begin(bounded::unlock));
        Actor.failure(LockLostException.class, a.begin(bounded::unlock));
        observed.close();
        assertEvents("seen ACQUIRED 0", "seen lost EXPIRED", "seen released 5000");
    }

    /** Callbacks go to a queue of the test, so that the interrupts that will be delivered can be counted. */
    @Test
    void aLossByMaxHoldInterruptsItsOwnerOnce() {
        Queue<Runnable> callbacks = new ConcurrentLinkedQueue<>();
        Holdfast mine = client(Holdfast.builder().store(memory).callbacks(callbacks::add));
        DistributedLock bounded = mine.lock(
                "seen",
                LockOptions.defaults().withMaxHold(Duration.ofSeconds(5)).withInterruptOnLoss(true));
        a.run(bounded::lock);
        a.run(bounded::lock);
        clock.advance(Duration.ofSeconds(5));
        Wait.until("the interrupt is on its way", () -> !callbacks.isEmpty());
        Actor.failure(LockLostException.class, a.begin(bounded::unlock));
        awaitCallbacks(mine);
        assertThat(callbacks).hasSize(1);
        Actor.failure(LockLostException.class, a.begin(bounded::unlock));
    }

    @Test
    void anObserverThatThrowsDoesNoHarm() throws InterruptedException {
        RecordingObserver rude = new RecordingObserver(true);
        Holdfast mine = client(Holdfast.builder().store(network).observer(rude));
        DistributedLock rudeLock = mine.lock("seen", LockOptions.defaults().withFixedLease(LEASE));
        a.run(rudeLock::lock);
        CompletableFuture<Void> waiting = b.parkIn(rudeLock::lock);
        a.run(rudeLock::unlock);
        Actor.end(waiting);
        b.run(rudeLock::unlock);
        Lease renewed = mine.lock("renewed").acquire();
        for (int third = 0; third < 6; third++) {
            clock.advance(Duration.ofSeconds(10));
            Wait.until("it was renewed", () -> renewed.remaining().compareTo(Duration.ofSeconds(25)) > 0);
        }
        renewed.release();
        Lease lost = rudeLock.acquire();
        CompletableFuture<LossReason> reported = new CompletableFuture<>();
        lost.onLost(reported::complete);
        clock.advance(LEASE);
        assertThat(Actor.end(reported)).isEqualTo(LossReason.EXPIRED);
        Actor.end(mine.lock("seen").acquireAsync()).release();
        Wait.until(
                "the renewals were reported",
                () -> rude.events.stream().anyMatch(event -> event.startsWith("renewed")));
    }

    /**
     * For example, a library of the observer may miss a class. An error that escaped in the middle of a change
     * would leave the change incomplete.
     */
    @Test
    void anObserverThatFailsWithAnErrorDoesNoHarm() throws InterruptedException {
        Queue<String> reported = new ConcurrentLinkedQueue<>();
        LockObserver broken = new LockObserver() {
            @Override
            public void acquireEnded(String name, Outcome outcome, Duration waited) {
                fail("acquired");
            }

            @Override
            public void handedOff(String name, int times) {
                fail("handed off");
            }

            private void fail(String what) {
                reported.add(what);
                Thread.currentThread().setUncaughtExceptionHandler((thread, expected) -> {});
                throw new NoClassDefFoundError("an observer's own failure");
            }
        };
        Holdfast mine = client(Holdfast.builder().store(network).observer(broken));
        DistributedLock brokenLock = mine.lock("seen", LockOptions.defaults().withFixedLease(LEASE));
        a.run(brokenLock::lock);
        CompletableFuture<Lease> waiting = b.park(brokenLock::acquire);
        a.run(brokenLock::unlock);
        Lease passedOn = Actor.end(waiting);
        CompletableFuture<LossReason> lost = new CompletableFuture<>();
        passedOn.onLost(lost::complete);
        clock.advance(LEASE);
        assertThat(Actor.end(lost)).isEqualTo(LossReason.EXPIRED);
        // On another thread than that of the listener.
        Wait.until("the hand-off was reported", () -> reported.contains("handed off"));
        assertThat(reported).contains("acquired");
        awaitUnused("seen");
    }

    @Test
    void aFenceGuardRefusesATokenThatIsOlderThanOneItHasSeen() {
        FenceGuard guard = new FenceGuard();
        assertThat(guard.admits("order", 33)).isTrue();
        assertThat(guard.admits("order", 33)).as("the same holder again").isTrue();
        assertThat(guard.admits("order", 34)).isTrue();
        assertThat(guard.admits("order", 33)).isFalse();
        assertThat(guard.admits("other", 1)).as("another name").isTrue();
        guard.check("order", 34);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> guard.check("order", 33))
                .withMessageContainingAll("33", "34", "order")
                .satisfies(stale -> assertThat(stale.reason()).isEqualTo(LossReason.TAKEN));
    }

    /** Tests the time line with two clients from the javadoc of Lease. */
    @Test
    void aPausedHoldersLateWriteIsRefused() throws InterruptedException {
        FenceGuard guard = new FenceGuard();
        Lease paused = lock.acquire();
        guard.check("seen", paused.token());
        rival.lock("seen").forceRelease();
        try (Lease next = rival.lock("seen").acquire()) {
            guard.check("seen", next.token());
            assertThat(paused.isValid()).as("what the paused one believes").isTrue();
            assertThat(guard.admits("seen", paused.token())).isFalse();
        }
    }

    /** An observer that blocks must not fill the memory. */
    @Test
    void eventsBeyondTenThousandAreDroppedWhileAnObserverBlocks() {
        int most = 10_000;
        CountDownLatch mayGoOn = new CountDownLatch(1);
        AtomicInteger delivered = new AtomicInteger();
        AtomicBoolean lastDelivered = new AtomicBoolean();
        Holdfast client = client(Holdfast.builder().store(memory).observer(new LockObserver() {
            @Override
            public void lost(String name, LossReason reason) {
                if (name.equals("last")) {
                    lastDelivered.set(true);
                    return;
                }
                Wait.until("the test lets the observer go on", () -> mayGoOn.getCount() == 0);
                delivered.incrementAndGet();
            }
        }));
        LockOptions fixed = LockOptions.defaults().withFixedLease(Duration.ofSeconds(30));
        for (int i = 0; i < most + 100; i++) {
            assertThat(client.lock("many" + i, fixed).tryAcquire()).isPresent();
        }
        clock.advanceAndSettle(Duration.ofSeconds(30));
        mayGoOn.countDown();
        Wait.until("those that were kept are delivered", () -> delivered.get() >= most);
        a.run(client.lock("last", fixed)::lock);
        clock.advance(Duration.ofSeconds(30));
        Wait.until("what follows is delivered, too", lastDelivered::get);
        // One was with the observer already when the others began to wait.
        assertThat(delivered.get()).isBetween(most, most + 1);
    }
}
