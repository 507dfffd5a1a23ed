package dev.holdfast.jdbc.row;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.store.ResourceRecord.Place;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.fault.Damage;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Somebody has changed the text columns of a row. Either the row is refused, with the name and what to do, or its first holder still
 * holds, and as many entries are there as the row counts.
 */
class DamagedRowTest {

    private static final int TRIES = 1_000;
    private static final Duration TTL = Duration.ofSeconds(5);
    private static final LockName NAME = new LockName("a name");
    private static final LockRow ROW = LockRow.of(
            new ResourceRecord(
                    NAME,
                    TTL,
                    5,
                    42,
                    List.of(place(1, 41), place(2, 42)),
                    List.of(place(3, 0)),
                    Map.of(new ClaimId("c", 8), 1_700_000_000_000_000L)),
            17);

    private static Place place(int number, long counter) {
        OwnerInfo owner = new OwnerInfo("c", "a\thost", 7, "a thread", "=", List.of("held", ""));
        Claim claim = new Claim(
                NAME, new ClaimId("client-" + "abc".charAt(number - 1), number), 2, 5, Duration.ofSeconds(30), owner);
        return new Place(claim, counter, 1_700_000_000_000_000L, 1_700_000_030_000_000L);
    }

    @ParameterizedTest
    @EnumSource
    void damagedEntriesAreRefusedOrCounted(Damage damage) {
        damaged(damage, ROW.others(), text -> row(ROW.holder(), ROW.owner(), text));
    }

    @ParameterizedTest
    @EnumSource
    void damagedOwnerIsRefusedOrHolds(Damage damage) {
        damaged(damage, ROW.owner(), text -> row(ROW.holder(), text, ROW.others()));
    }

    @ParameterizedTest
    @EnumSource
    void damagedHolderIsRefusedOrHolds(Damage damage) {
        damaged(damage, ROW.holder(), text -> row(text, ROW.owner(), ROW.others()));
    }

    /** What no writer makes, and chance makes seldom: else the second of two holders would be the only one. */
    @Test
    void furtherHoldersWithoutAFirstOneAreRefused() {
        assertThatExceptionOfType(StoreException.class)
                .isThrownBy(() -> row(LockRow.NONE, ROW.owner(), ROW.others()).toRecord(TTL))
                .withMessageContaining("no first one");
    }

    private interface Changed {
        LockRow with(String text);
    }

    private static void damaged(Damage damage, String text, Changed changed) {
        Random random = new Random(Seeds.of("damaged row " + damage + text.length()));
        UnaryOperator<String> damaging =
                of -> new String(damage.of(of.getBytes(StandardCharsets.UTF_8), random), StandardCharsets.UTF_8);
        for (int i = 0; i < TRIES; i++) {
            LockRow row = changed.with(damaging.apply(text));
            try {
                ResourceRecord read = row.toRecord(TTL);
                assertThat(read.grants().size()
                                + read.waiters().size()
                                + read.tombstones().size())
                        .as("%s", row)
                        .isEqualTo(ROW.more() + 1);
                assertThat(read.grants()).as("%s", row).isNotEmpty();
            } catch (StoreException refused) {
                assertThat(refused).hasMessageContaining(NAME.value()).hasMessageContaining("delete the row");
            }
        }
    }

    private static LockRow row(String holder, String owner, String others) {
        return new LockRow(
                NAME,
                ROW.version(),
                ROW.counter(),
                holder,
                ROW.held(),
                ROW.permits(),
                ROW.capacity(),
                ROW.since(),
                ROW.expires(),
                owner,
                ROW.more(),
                others);
    }
}
