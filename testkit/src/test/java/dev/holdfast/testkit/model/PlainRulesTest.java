package dev.holdfast.testkit.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.testkit.Seeds;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * {@link ResourceRecord}, by which the databases and the store in memory decide, gives the same answers as the {@link
 * PlainRules}, of which it shares nothing, to the microsecond and to the number of each grant.
 */
class PlainRulesTest {

    private static final long SEED = Seeds.of("plain rules");
    private static final int RUNS = 40;
    private static final int STEPS = 5_000;

    @Test
    void recordFollowsThePlainRules() {
        RecordRun.Counts counts = new RecordRun.Counts();
        for (int i = 0; i < RUNS; i++) {
            new RecordRun(SEED + i, counts, RecordedName::new).run(STEPS);
        }
        System.out.println(
                RUNS * STEPS + " steps of the record as by the plain rules, seed " + SEED + ", met " + counts);
        assertThat(counts.rarest()).as("answers of the rarest kind: %s", counts).isGreaterThan(RUNS * STEPS / 1_000);
    }

    @Test
    void oldestOfTooManyReleasedClaimsIsForgottenFirst() {
        LockName name = new LockName("many");
        ResourceRecord record = new ResourceRecord(name, RecordRun.TICKET);
        PlainRules rules = new PlainRules(RecordRun.TICKET);
        int claims = PlainRules.MOST_RELEASED + 20;
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < claims; i += 1 + pass) {
                Claim claim =
                        new Claim(name, new ClaimId("c", i), 1, 1, Duration.ofSeconds(10 + i % 7), OwnerInfo.of("c"));
                long now = (long) pass * claims + i;
                assertThat(record.release(claim, now, now)).isEqualTo(rules.release(claim, now, now));
            }
            assertThat(record.tombstones()).hasSize(PlainRules.MOST_RELEASED).isEqualTo(rules.released(name));
        }
    }

    /** Mistakes that the comparison must find, whatever becomes of it. */
    enum Mistake implements Supplier<RecordRun.NameFactory> {
        LATE_ACQUIRE_IS_GRANTED {
            @Override
            public RecordRun.NameFactory get() {
                return name -> new RecordedName(name) {
                    @Override
                    boolean release(Claim claim, long now, long wall) {
                        return super.release(once(claim), now, wall);
                    }
                };
            }
        },
        SECOND_OF_TWO_GRANTS_IS_NOT_REPORTED {
            @Override
            public RecordRun.NameFactory get() {
                return name -> new RecordedName(name) {
                    @Override
                    List<Handed> takeHanded() {
                        return super.takeHanded().stream().limit(1).toList();
                    }
                };
            }
        },
        RENEWAL_IS_A_MICROSECOND_SHORT {
            @Override
            public RecordRun.NameFactory get() {
                return name -> new RecordedName(name) {
                    @Override
                    Renewed renew(Claim claim, long now, long wall) {
                        Duration less = claim.lease().minusNanos(1_000);
                        return super.renew(
                                less.compareTo(Claim.MIN_LEASE) < 0 ? claim : claim.withLease(less), now, wall);
                    }
                };
            }
        };

        private static Claim once(Claim claim) {
            return new Claim(claim.name(), claim.id(), claim.permits(), claim.limit(), claim.lease(), claim.owner());
        }
    }

    @ParameterizedTest
    @EnumSource
    void mistakeIsFound(Mistake mistake) {
        assertThatThrownBy(() -> new RecordRun(SEED, new RecordRun.Counts(), mistake.get()).run(STEPS))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("seed " + SEED);
    }
}
