package dev.holdfast.jdbc.row;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.store.ResourceRecord.Place;
import dev.holdfast.testkit.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

/** What is written into a row is read from it again. */
class RowCodecTest {

    private static final Duration TTL = Duration.ofSeconds(5);
    private static final String[] NASTY = {
        "",
        "=",
        "==",
        "-",
        "a\tb",
        "line\nfeed",
        "\\",
        "\\t",
        "\r\n",
        "ünïcödé",
        "\uD83D\uDD12",
        "'; DROP TABLE x; --",
        "{}"
    };

    @RepeatedTest(300)
    void rowsAreReadAsTheyWereWritten(RepetitionInfo repetition) {
        Random random = new Random(Seeds.of("row text " + repetition.getCurrentRepetition()));
        ResourceRecord record = record(random);
        LockRow row = LockRow.of(record, 17);
        ResourceRecord read = row.toRecord(TTL);
        assertThat(LockRow.of(read, 17)).isEqualTo(row);
        assertThat(read.counter()).isEqualTo(record.counter());
        assertThat(read.grants()).isEqualTo(record.grants());
        assertThat(read.waiters()).isEqualTo(record.waiters());
        assertThat(List.copyOf(read.tombstones().entrySet()))
                .isEqualTo(List.copyOf(record.tombstones().entrySet()));
        if (!record.isFree()) {
            assertThat(read.limit()).isEqualTo(record.limit());
        }
    }

    @Test
    void soleHolderHasColumnsOnly() {
        Random random = new Random(Seeds.of("sole holder"));
        Place place = new Place(claim(random, 3), 7, -5, 1_000);
        ResourceRecord record = new ResourceRecord(new LockName("x"), TTL, 3, 7, List.of(place), List.of(), Map.of());
        LockRow row = LockRow.of(record, 1);
        assertThat(row.more()).isZero();
        assertThat(row.others()).isEqualTo(LockRow.NONE);
        assertThat(row.holder()).isEqualTo(place.claim().id().toString());
    }

    private static ResourceRecord record(Random random) {
        int limit = random.nextInt(4);
        List<Place> grants = entries(random, limit, limit == 0 ? 0 : random.nextInt(3), true);
        List<Place> waiters = entries(random, limit, random.nextInt(5), false);
        Map<ClaimId, Long> tombstones = new LinkedHashMap<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            tombstones.put(id(random), random.nextLong());
        }
        return new ResourceRecord(new LockName("x"), TTL, limit, random.nextLong() >>> 1, grants, waiters, tombstones);
    }

    private static List<Place> entries(Random random, int limit, int count, boolean granted) {
        List<Place> entries = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long counter = granted ? 1 + (random.nextLong() >>> 2) : 0;
            entries.add(new Place(claim(random, limit), counter, random.nextLong(), random.nextLong()));
        }
        return entries;
    }

    private static Claim claim(Random random, int limit) {
        ClaimId id = id(random);
        List<String> held = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            held.add(nasty(random));
        }
        OwnerInfo owner = new OwnerInfo(
                random.nextBoolean() ? id.client() : nasty(random),
                nasty(random),
                random.nextInt(5) - 2,
                nasty(random),
                nasty(random),
                held);
        Duration lease = Duration.ofNanos(1_000 * (100_000L + random.nextInt(1_000_000_000)));
        return new Claim(
                new LockName("x"),
                id,
                1 + random.nextInt(Math.max(1, limit)),
                limit,
                lease,
                owner,
                random.nextBoolean());
    }

    private static ClaimId id(Random random) {
        return new ClaimId("c-" + Long.toString(random.nextLong() >>> 1, 36), random.nextLong() >>> 1);
    }

    private static String nasty(Random random) {
        return NASTY[random.nextInt(NASTY.length)];
    }
}
