package dev.holdfast.memcached.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.memcached.client.ServerTime;
import dev.holdfast.memcached.client.Version;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.ResourceRecord.Place;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.fault.Damage;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Somebody has changed the value of a lock. Either it is refused, with the name and what to do, or somebody still holds. What cannot be
 * seen is a number of the right form that is another one.
 */
class DamagedRecordTest {

    private static final int TRIES = 2_000;
    private static final LockName NAME = new LockName("a name");
    private static final ClaimId RELEASED = new ClaimId("c", 8);
    private static final long END = 1_700_000_000_000_000L;
    private static final byte[] HELD =
            RecordText.write(new RecordContent(NAME, 41, List.of(place(41)), Map.of(RELEASED, END)));

    private static Place place(long counter) {
        OwnerInfo owner = new OwnerInfo("c", "host", 7, "a thread", "", List.of());
        Claim claim = new Claim(NAME, new ClaimId("c", 9), 1, 1, Duration.ofSeconds(30), owner);
        return new Place(claim, counter, END - 1, END);
    }

    @ParameterizedTest
    @EnumSource
    void damagedValueIsRefusedOrHeld(Damage damage) {
        Random random = new Random(Seeds.of("damaged value " + damage));
        for (int i = 0; i < TRIES; i++) {
            byte[] value = damage.of(HELD, random);
            RecordContent read = readOrRefused(value);
            if (read != null) {
                assertThat(read.isEmpty())
                        .as(new String(value, StandardCharsets.UTF_8))
                        .isFalse();
            }
        }
    }

    /** A tombstone whose time was cut would end at once, and the late request that it is for would be granted. */
    @Test
    void valueThatWasCutInsideALineIsRefused() {
        for (int length = 0; length < HELD.length; length++) {
            RecordContent read = readOrRefused(Arrays.copyOf(HELD, length));
            if (read != null) {
                assertThat(HELD[length - 1]).as("cut at %s", length).isEqualTo((byte) '\n');
                assertThat(read.grants()).as("cut at %s", length).hasSize(1);
            }
        }
    }

    @Test
    void valueOfAnotherVersionIsRefused() {
        String newer = new String(HELD, StandardCharsets.UTF_8).replace("holdfast1", "holdfast2");
        assertThatThrownBy(() -> read(newer.getBytes(StandardCharsets.UTF_8)))
                .hasMessageContaining(NAME.value())
                .hasMessageContaining("remove it");
    }

    private static RecordContent readOrRefused(byte[] value) {
        try {
            return read(value);
        } catch (StoreException refused) {
            assertThat(refused).hasMessageContaining(NAME.value()).hasMessageContaining("remove it");
            return null;
        }
    }

    private static RecordContent read(byte[] value) {
        return StoredRecord.read(NAME, new Version(value, 5), new ServerTime(1_000_000, 0, 0));
    }
}
