package dev.holdfast.testkit.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.Mutant;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.law.StoreFixture;
import dev.holdfast.testkit.model.StoreModelRun.Met;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The model run passes on a correct store and finds mutants. */
@Timeout(120)
class StoreModelRunTest {

    private static final long SEED = Seeds.of("model run");

    @Test
    void lawfulStorePassesOnAHeldClock() {
        for (int i = 0; i < 5; i++) {
            ManualClock clock = new ManualClock(SEED + i);
            String report = run(new MemoryLockStore(clock, Duration.ofSeconds(3)), clock, 5_000, SEED + i);
            System.out.println(report);
        }
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
    void operationsThatAStopOfTheMachineHasSpoiledAreReplaced() {
        // The store is slow until the end of the first round, so that no operation of that round counts.
        int last = 350;
        AtomicInteger calls = new AtomicInteger();
        Duration ticket = Duration.ofMillis(500);
        try (LockStore store = new ForwardingStore(new MemoryLockStore(MonotonicClock.SYSTEM, ticket)) {
            @Override
            public CompletionStage<Attempt> tryAcquire(Claim claim) {
                int call = calls.incrementAndGet();
                if (call % 20 == 0 && call <= last) {
                    LockSupport.parkNanos(ticket.toNanos() / 2);
                }
                return super.tryAcquire(claim);
            }
        }) {
            new StoreModelRun(store, ModelTime.real(), "run-", 1_000, SEED).run();
        }
        assertThat(calls).hasValueGreaterThan(last);
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
                ModelName name = new ModelName(new LockName("phase-" + phase));
                for (int i = 0; i < 4; i++) {
                    workload.step(List.of(name));
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
            return new StoreModelRun(store, ModelTime.held(clock), "run-", operations, seed).run();
        }
    }
}
