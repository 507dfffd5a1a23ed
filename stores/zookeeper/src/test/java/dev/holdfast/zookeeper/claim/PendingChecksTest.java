package dev.holdfast.zookeeper.claim;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PendingChecksTest {

    private final PendingChecks checks = new PendingChecks();

    /** Each of the short leases left one more task for the end of the long one. */
    @ParameterizedTest
    @ValueSource(longs = {0, Long.MAX_VALUE - 500})
    void shortLeasesBesideALongOneScheduleItsCheckOnce(long start) {
        long end = start + 1_000;
        assertThat(checks.add(end)).isTrue();
        for (long at = start + 100; at - end < 0; at += 100) {
            assertThat(checks.add(at)).as("a check before all others").isTrue();
            assertThat(checks.add(at + 50)).as("one after it").isFalse();
            checks.begun(at);
            assertThat(checks.add(end)).as("the check of the long one again").isFalse();
        }
        checks.begun(end);
        assertThat(checks.add(end)).isTrue();
    }
}
