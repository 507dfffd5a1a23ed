package dev.holdfast.testkit.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.Mutant;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.OtherEnd;
import dev.holdfast.testkit.law.StoreFixture;
import dev.holdfast.testkit.model.StoreModelRun.Met;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The model run passes on a correct store and finds mutants. */
class StoreModelRunTest {

    private static final long SEED = Seeds.of("model run");

    @Test
    void lawfulStorePassesOnAHeldClock() {
        for (int i = 0; i < 3; i++) {
            ManualClock clock = new ManualClock(SEED + i);
            String report = run(new MemoryLockStore(clock, Duration.ofSeconds(3)), clock, 5_000, SEED + i);
            System.out.println(report);
        }
    }

    /** Dead waiters were remembered for ever: of the claims that expired beside them, fewer were counted the longer it lasted. */
    @Test
    void aLongRunMeetsAsMuchExpiryAsAShortOne() {
        ManualClock clock = new ManualClock(SEED);
        String report = run(new MemoryLockStore(clock, Duration.ofSeconds(3)), clock, 10_000, SEED);
        assertThat(number("EXPIRY=(\\d+)", report)).as(report).isGreaterThan(1_000);
    }

    private static int number(String pattern, String report) {
        Matcher matcher = Pattern.compile(pattern).matcher(report);
        assertThat(matcher.find()).as(report).isTrue();
        return Integer.parseInt(matcher.group(1));
    }

    @ParameterizedTest
    @EnumSource(
            names = {"FOREIGN_RELEASE", "REVIVED_CLAIM", "LOST_TOMBSTONE", "TOKEN_GOES_BACK", "BUSY_WAITS", "BARGING"})
    void mutantIsFound(Mutant mutant) {
        ManualClock clock = new ManualClock(SEED);
        LockStore store = mutant.of(new MemoryLockStore(clock));
        assertThatThrownBy(() -> run(store, clock, 10_000, SEED))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining(StoreModelRun.SEED + "=" + SEED);
    }

    @Test
    void signalThatReachesItsThreadAsAnExpiryIsFound() {
        ManualClock clock = new ManualClock(SEED);
        LockStore store = new ForwardingStore(new MemoryLockStore(clock)) {
            @Override
            public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
                // Takes every end for that of its ticket.
                return super.enqueue(
                        claim,
                        claim.isWaitSet()
                                ? new OtherEnd(listener, reason -> listener.ended(Renewed.Reason.EXPIRED))
                                : listener);
            }
        };
        assertThatThrownBy(() -> run(store, clock, 10_000, SEED))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("Listeners of")
                .hasMessageContaining("EXPIRED");
    }

    @Test
    void operationsThatAStopOfTheMachineHasSpoiledAreReplaced() {
        MonotonicClock clock = new LonelyClock();
        List<SlowStore> stores = new ArrayList<>();
        String report = StoreModelRun.run(
                slowness -> {
                    stores.add(new SlowStore(clock, Duration.ofMillis(500).multipliedBy(slowness), 20));
                    return stores.get(stores.size() - 1);
                },
                ModelTime.followed(clock),
                true,
                "run-",
                1_000,
                SEED);
        assertThat(stores.get(stores.size() - 1).stops).hasValue(1);
        assertThat(givenUp(report)).isPositive();
    }

    /** How many phases a run has given up: one in ten at most, although this one is short. */
    private static int givenUp(String report) {
        int givenUp = number("(\\d+) of \\d+ phases given up", report);
        assertThat(10 * givenUp).as(report).isLessThanOrEqualTo(number("of (\\d+) phases given up", report));
        return givenUp;
    }

    @Test
    void aRunThatAMachineIsTooSlowForBeginsAnewAtHalfThePace() {
        MonotonicClock clock = new LonelyClock();
        List<Integer> paces = new ArrayList<>();
        String report = StoreModelRun.run(
                slowness -> {
                    paces.add(slowness);
                    return new SlowStore(
                            clock, Duration.ofMillis(500).multipliedBy(slowness), slowness == 1 ? 10_000 : 0);
                },
                ModelTime.followed(clock),
                true,
                "run-",
                1_000,
                SEED);
        assertThat(paces).startsWith(1, 2);
        assertThat(givenUp(report)).isNotNegative();
    }

    @Test
    void aMachineThatIsAlwaysTooSlowIsReported() {
        MonotonicClock clock = new LonelyClock();
        assertThatThrownBy(() -> StoreModelRun.run(
                        slowness -> new SlowStore(clock, Duration.ofMillis(50).multipliedBy(slowness), 10_000),
                        ModelTime.followed(clock),
                        true,
                        "run-",
                        1_000,
                        SEED))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("too slow for tickets of PT0.4S");
    }

    /** Its quotas do not ask for what ends by time. */
    @Test
    void aRunThatIsToMeetNoExpiryNeedsNone() {
        MonotonicClock clock = new LonelyClock();
        SlowStore store = new SlowStore(clock, Duration.ofMinutes(1), 0);
        String report = StoreModelRun.run(slowness -> store, ModelTime.followed(clock), false, "run-", 1_000, SEED);
        assertThat(report).contains("EXPIRY=0", "DEAD_WAITER=0", ", 0 of ");
    }

    /** The events of phases that were given up prove nothing, so they must not be counted as met. */
    @Test
    void eventsOfOperationsThatDoNotCountAreForgotten() {
        ManualClock clock = new ManualClock(SEED);
        try (LockStore tested = new MemoryLockStore(clock);
                LockStore model = new MemoryLockStore(clock)) {
            TwinStores twins = new TwinStores(tested, model, true);
            ModelWorkload workload =
                    new ModelWorkload(twins, ModelTime.held(clock), new Random(SEED), List.of(StoreFixture.LONG));
            ModelName name = new ModelName(new LockName("name"));
            for (int i = 0; i < 500; i++) {
                workload.step(List.of(name));
            }
            Map<Met, Integer> met = workload.met();
            assertThat(met.get(Met.REPEAT)).isPositive();
            workload.forget(Map.of(Met.REPEAT, 3));
            assertThat(workload.met()).containsEntry(Met.REPEAT, met.get(Met.REPEAT) - 3);
        }
    }

    /**
     * The time of a machine that has nothing to do but the run: it passes only while the run waits. On a busy machine, real time
     * would give up more phases than the test has stopped.
     */
    private static final class LonelyClock implements MonotonicClock {
        /** A thread that waits is woken a little late, so no deadline ends exactly with a wait. */
        private static final Duration LATE = Duration.ofNanos(50_000);

        private final ManualClock clock = new ManualClock(SEED);

        @Override
        public long nanoTime() {
            return clock.nanoTime();
        }

        @Override
        public long epochMicros() {
            return clock.epochMicros();
        }

        @Override
        public void parkNanos(Object blocker, long nanos) {
            clock.advance(LATE.plusNanos(nanos));
        }
    }

    /** Stops the machine for half of a ticket with each 20th attempt, until the attempt with this number. */
    private static final class SlowStore extends ForwardingStore {
        private final AtomicInteger attempts = new AtomicInteger();
        private final AtomicInteger stops = new AtomicInteger();
        private final MonotonicClock clock;
        private final Duration ticket;
        private final int last;

        SlowStore(MonotonicClock clock, Duration ticket, int last) {
            super(new MemoryLockStore(clock, ticket));
            this.clock = clock;
            this.ticket = ticket;
            this.last = last;
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            int attempt = attempts.incrementAndGet();
            if (attempt % 20 == 0 && attempt <= last) {
                stops.incrementAndGet();
                clock.parkNanos(this, ticket.toNanos() / 2);
            }
            return super.tryAcquire(claim);
        }
    }

    /** On a slow machine few operations fit into a phase, so that it begins and ends with hardly any waiters. */
    @Test
    void phasesOfFewOperationsMeetEnoughCancellations() {
        ManualClock clock = new ManualClock(SEED);
        try (LockStore tested = new MemoryLockStore(clock);
                LockStore model = new MemoryLockStore(clock)) {
            TwinStores twins = new TwinStores(tested, model, true);
            ModelWorkload workload = new ModelWorkload(
                    twins, ModelTime.held(clock), new Random(SEED), List.of(Duration.ofSeconds(3), StoreFixture.LONG));
            for (int phase = 0; phase < 500; phase++) {
                List<ModelName> names = List.of(
                        new ModelName(new LockName("phase-" + phase + "a")),
                        new ModelName(new LockName("phase-" + phase + "b")));
                for (int i = 0; i < 4; i++) {
                    workload.step(names);
                }
            }
            assertThat(workload.met()).allSatisfy((event, met) -> {
                if (event != Met.EXPIRY && event != Met.DEAD_WAITER) { // no time passes here
                    assertThat(met)
                            .as("%s of %d operations", event, twins.operations())
                            .isGreaterThan(twins.operations() / 40);
                }
            });
        }
    }

    private static String run(LockStore store, ManualClock clock, int operations, long seed) {
        try (store) {
            return StoreModelRun.run(slowness -> store, ModelTime.held(clock), true, "run-", operations, seed);
        }
    }
}
