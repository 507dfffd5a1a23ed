package dev.holdfast.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cli.process.KillSchedule.Action;
import dev.holdfast.cli.process.KillSchedule.Step;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;

class KillScheduleTest {

    private static final Duration GRACE = Duration.ofSeconds(5);
    private static final Duration MARGIN = Duration.ofMillis(500);

    /** A clock may start anywhere, also just before it overflows. */
    private long now = ThreadLocalRandom.current().nextBoolean()
            ? Long.MAX_VALUE - 1_000
            : ThreadLocalRandom.current().nextLong();

    private long deadline = now + Duration.ofSeconds(30).toNanos();

    private Step step(KillSchedule schedule) {
        return schedule.next(now, Math.max(0, deadline - now));
    }

    private void pass(Duration time) {
        now += time.toNanos();
    }

    @Test
    void terminatesAtTheGraceAndKillsAtTheMargin() {
        KillSchedule schedule = new KillSchedule(OnLost.TERM, GRACE, MARGIN);
        assertThat(step(schedule))
                .isEqualTo(new Step(Action.NONE, Duration.ofSeconds(10).toNanos()));
        pass(Duration.ofSeconds(20));
        assertThat(step(schedule))
                .isEqualTo(new Step(Action.NONE, Duration.ofSeconds(5).toNanos()));
        pass(Duration.ofSeconds(5));
        assertThat(schedule.hasActed()).isFalse();
        assertThat(step(schedule))
                .isEqualTo(new Step(Action.TERMINATE, Duration.ofMillis(4500).toNanos()));
        assertThat(schedule.hasActed()).isTrue();
        pass(Duration.ofSeconds(4));
        assertThat(step(schedule))
                .isEqualTo(new Step(Action.NONE, Duration.ofMillis(500).toNanos()));
        pass(Duration.ofMillis(500));
        assertThat(step(schedule)).isEqualTo(new Step(Action.KILL, KillSchedule.REPEAT.toNanos()));
        assertThat(step(schedule).action()).as("killed again until it is dead").isEqualTo(Action.KILL);
    }

    /** A session may live for less than the lease that was asked for, and then less than the grace is left before each renewal. */
    @Test
    void aGraceIsAtMostHalfOfWhatIsHeld() {
        KillSchedule schedule = new KillSchedule(OnLost.TERM, GRACE, MARGIN).within(Duration.ofSeconds(6));
        deadline = now + Duration.ofSeconds(4).toNanos();
        assertThat(step(schedule))
                .isEqualTo(new Step(Action.NONE, Duration.ofSeconds(1).toNanos()));
        pass(Duration.ofSeconds(1));
        assertThat(step(schedule).action()).isEqualTo(Action.TERMINATE);
        KillSchedule whole = new KillSchedule(OnLost.TERM, GRACE, MARGIN).within(Duration.ofSeconds(30));
        deadline = now + GRACE.toNanos();
        assertThat(step(whole).action()).isEqualTo(Action.TERMINATE);
    }

    @Test
    void aRenewalInTimeChangesNothingForTheCommand() {
        KillSchedule schedule = new KillSchedule(OnLost.TERM, GRACE, MARGIN);
        for (int i = 0; i < 100; i++) {
            pass(Duration.ofSeconds(24));
            assertThat(step(schedule).action()).isEqualTo(Action.NONE);
            deadline = now + Duration.ofSeconds(30).toNanos();
        }
        assertThat(schedule.hasActed()).isFalse();
    }

    @Test
    void aRenewalAfterSigtermDoesNotCallTheKillOff() {
        KillSchedule schedule = new KillSchedule(OnLost.TERM, GRACE, MARGIN);
        pass(Duration.ofSeconds(26));
        assertThat(step(schedule).action()).isEqualTo(Action.TERMINATE);
        deadline = now + Duration.ofSeconds(30).toNanos();
        assertThat(step(schedule).waitNanos()).isEqualTo(Duration.ofMillis(3500).toNanos());
        pass(Duration.ofMillis(3500));
        assertThat(step(schedule).action()).isEqualTo(Action.KILL);
    }

    @Test
    void aLossAtOnceKillsAtOnce() {
        KillSchedule schedule = new KillSchedule(OnLost.TERM, GRACE, MARGIN);
        assertThat(step(schedule).action()).isEqualTo(Action.NONE);
        deadline = now;
        assertThat(step(schedule).action()).isEqualTo(Action.KILL);
    }

    @Test
    void aPauseBeyondTheDeadlineKillsAtOnce() {
        KillSchedule schedule = new KillSchedule(OnLost.TERM, GRACE, MARGIN);
        assertThat(step(schedule).action()).isEqualTo(Action.NONE);
        pass(Duration.ofHours(1));
        assertThat(step(schedule).action()).isEqualTo(Action.KILL);
    }

    @Test
    void killOnlyNeverTerminates() {
        KillSchedule schedule = new KillSchedule(OnLost.KILL, GRACE, MARGIN);
        pass(Duration.ofSeconds(29));
        assertThat(step(schedule))
                .isEqualTo(new Step(Action.NONE, Duration.ofMillis(500).toNanos()));
        pass(Duration.ofMillis(500));
        assertThat(step(schedule).action()).isEqualTo(Action.KILL);
    }

    @Test
    void ignoreNeverActs() {
        KillSchedule schedule = new KillSchedule(OnLost.IGNORE, GRACE, MARGIN);
        pass(Duration.ofSeconds(60));
        assertThat(step(schedule).action()).isEqualTo(Action.NONE);
        assertThat(schedule.hasActed()).isFalse();
    }

    @Test
    void graceAndMarginFitEveryLeaseThatIsAllowed() {
        for (long millis = 100; millis <= 86_400_000; millis += 1 + millis / 7) {
            Duration lease = Duration.ofMillis(millis);
            Duration grace = KillSchedule.defaultGrace(lease);
            Duration margin = KillSchedule.margin(lease);
            assertThat(grace).isLessThanOrEqualTo(KillSchedule.mostGrace(lease));
            // Two thirds of the lease are left when it is renewed in time.
            assertThat(margin).isLessThan(lease.dividedBy(3));
        }
    }
}
