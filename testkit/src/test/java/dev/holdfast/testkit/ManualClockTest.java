package dev.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ManualClockTest {

    private static final long HANGS_MILLIS = 60_000;

    private final ManualClock clock = new ManualClock();

    @Test
    void startsAnywhereAndOftenNearTheOverflow() {
        long near = LongStream.range(0, 200)
                .map(seed -> new ManualClock(seed).nanoTime())
                .filter(start -> start > Long.MAX_VALUE - 60_000_000_000L)
                .count();
        assertThat(near).isBetween(60L, 140L);
        assertThat(new ManualClock(7).nanoTime()).isEqualTo(new ManualClock(7).nanoTime());
    }

    @Test
    void standsStillUntilItIsMoved() {
        long nanos = clock.nanoTime();
        long micros = clock.epochMicros();
        assertThat(clock.nanoTime()).isEqualTo(nanos);
        clock.advance(Duration.ofDays(1));
        assertThat(clock.nanoTime() - nanos).isEqualTo(Duration.ofDays(1).toNanos());
        assertThat(clock.epochMicros() - micros).isEqualTo(Duration.ofDays(1).toNanos() / 1_000);
        assertThatThrownBy(() -> clock.advance(Duration.ofNanos(-1))).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void wallClockStepsByItself() {
        long nanos = clock.nanoTime();
        long micros = clock.epochMicros();
        clock.stepWallClock(Duration.ofHours(-3));
        assertThat(clock.nanoTime()).isEqualTo(nanos);
        assertThat(clock.epochMicros() - micros).isEqualTo(-Duration.ofHours(3).toNanos() / 1_000);
    }

    @Test
    void parksUntilItsTimeIsOver() throws InterruptedException {
        AtomicInteger woken = new AtomicInteger();
        Thread sooner = parked(Duration.ofSeconds(1), woken);
        Thread later = parked(Duration.ofSeconds(10), woken);
        awaitParked(2);
        clock.advance(Duration.ofMillis(999));
        assertThat(woken).hasValue(0);
        clock.advance(Duration.ofMillis(1));
        sooner.join();
        assertThat(woken).hasValue(1);
        assertThat(later.isAlive()).isTrue();
        clock.advance(Duration.ofDays(1));
        later.join();
        assertThat(clock.parkedThreads()).isZero();
    }

    @Test
    void unparkAndInterruptEndAParking() throws InterruptedException {
        for (boolean byInterrupt : List.of(true, false)) {
            Thread thread = new Thread(() -> clock.parkNanos(this, Long.MAX_VALUE));
            thread.start();
            awaitParked(1);
            if (byInterrupt) {
                thread.interrupt();
            } else {
                LockSupport.unpark(thread);
            }
            thread.join();
        }
        clock.parkNanos(this, 0);
        clock.parkNanos(this, -1);
    }

    // In each round, advance() races with a thread that is about to park for exactly that time. After a lost wake-up
    // it would park for ever.
    @Test
    void noWakeUpIsLost() throws InterruptedException {
        Random random = new Random(Seeds.of("wake-up"));
        for (int round = 0; round < 5_000; round++) {
            long deadline = clock.nanoTime() + 1_000_000;
            Thread sleeper = new Thread(() -> {
                while (deadline - clock.nanoTime() > 0) {
                    clock.parkNanos(this, deadline - clock.nanoTime());
                }
            });
            sleeper.start();
            for (int spin = random.nextInt(2_000); spin > 0; spin--) {
                Thread.onSpinWait();
            }
            clock.advance(Duration.ofMillis(1));
            sleeper.join(HANGS_MILLIS);
            assertThat(sleeper.isAlive()).as("still parked in round " + round).isFalse();
        }
    }

    @Test
    void advancesUntilAConditionHolds() {
        long start = clock.nanoTime();
        clock.advanceUntil(() -> clock.nanoTime() - start >= 50_000_000, Duration.ofMillis(10), Duration.ofSeconds(1));
        assertThat(clock.nanoTime() - start).isEqualTo(50_000_000);
        assertThatThrownBy(() -> clock.advanceUntil(() -> false, Duration.ofMillis(1), Duration.ofMillis(5)))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("seed");
    }

    private Thread parked(Duration duration, AtomicInteger woken) {
        long deadline = clock.nanoTime() + duration.toNanos();
        Thread thread = new Thread(() -> {
            while (deadline - clock.nanoTime() > 0) {
                clock.parkNanos(this, deadline - clock.nanoTime());
            }
            woken.incrementAndGet();
        });
        thread.start();
        return thread;
    }

    private void awaitParked(int threads) {
        while (clock.parkedThreads() < threads) {
            Thread.onSpinWait();
        }
    }
}
