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
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RecordTextTest {

    private static final LockName NAME = new LockName("a name\u20ac%");
    private static final String ODD = "\\ \t \n \r \\t = \u20ac\ud83d\udd12";

    private static Place place(long counter, long expires) {
        OwnerInfo owner = new OwnerInfo("c", "h", 7, "t", "l", List.of(ODD, ""));
        Claim claim = new Claim(NAME, new ClaimId("c", 9), 2, 5, Duration.ofSeconds(30), owner, true);
        return new Place(claim, counter, 11, expires);
    }

    @Test
    void whatWasWrittenIsRead() {
        RecordContent content = new RecordContent(NAME, 42, List.of(place(41, 12)), Map.of(new ClaimId("d", 1), 99L));
        assertThat(RecordText.read(RecordText.write(content), 1)).isEqualTo(content);
    }

    @Test
    void newGrantGetsTheNumberOfTheValue() {
        RecordContent content = new RecordContent(NAME, RecordText.NEW, List.of(place(RecordText.NEW, 12)), Map.of());
        RecordContent read = RecordText.read(RecordText.write(content), 1234);
        assertThat(read.counter()).isEqualTo(1234);
        assertThat(read.grants()).extracting(Place::counter).containsExactly(1234L);
    }

    @Test
    void otherValuesAreRefusedAndNamed() {
        for (String wrong : List.of("", "x", "holdfast1", "holdfast2\ta name\t1", "holdfast1\ta\t1\nwait\t1\t2\n")) {
            assertThatThrownBy(() -> stored(wrong, 10_000_000))
                    .as(wrong)
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining(NAME.value());
        }
        assertThatThrownBy(() -> stored("holdfast1\tanother\t1\ntomb\tc.1\t2\n", 10_000_000))
                .hasMessageContaining("another");
    }

    @Test
    void grantIsLiveUntilTheServersClockHasSaidItsEnd() {
        String text = new String(
                RecordText.write(new RecordContent(NAME, 42, List.of(place(41, 20_000_000)), Map.of())),
                StandardCharsets.UTF_8);
        StoredRecord before = stored(text, 17_000_000);
        assertThat(before.record().isFree()).isFalse();
        assertThat(before.mayHaveEnded()).isFalse();
        StoredRecord between = stored(text, 19_000_000);
        assertThat(between.mayHaveEnded()).isTrue();
        between.record().settle(between.now(), 0);
        assertThat(between.record().isFree())
                .as("it is live until it is surely over")
                .isFalse();
        assertThat(new String(RecordText.write(between.content()), StandardCharsets.UTF_8))
                .as("it is not prolonged by being written")
                .isEqualTo(text);
        StoredRecord after = stored(text, 20_000_000);
        assertThat(after.record().isFree()).isTrue();
        assertThat(after.mayHaveEnded()).isFalse();
    }

    @Test
    void valueLivesForTheLeaseAndTwoSeconds() {
        StoredRecord fresh = stored(Version.ABSENT, 10_000_000);
        Claim claim = place(1, 1).claim();
        fresh.record().tryAcquire(claim, fresh.now(), RecordText.NEW);
        assertThat(fresh.secondsToLive(fresh.content())).isEqualTo(32);
        Version read = new Version(RecordText.write(fresh.content()), 5);
        StoredRecord later = stored(read, 20_000_000);
        assertThat(later.secondsToLive(later.content()))
                .as("what was there lives until the clock says so: the time of the stamp was perhaps 2.25 s ahead")
                .isEqualTo(25);
        later.record().renew(claim.withLease(Duration.ofMillis(29_001)), later.now(), RecordText.NEW);
        assertThat(later.secondsToLive(later.content())).isEqualTo(32);
    }

    @Test
    void timesThatTheServerWouldTakeForDatesAreRefused() {
        Duration tooLong = Duration.ofDays(30);
        StoredRecord record = stored(
                RecordText.write(new RecordContent(NAME, 42, List.of(place(41, tooLong.toNanos() / 1_000)), Map.of())),
                0);
        assertThatThrownBy(() -> record.secondsToLive(record.content()))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("30 days");
    }

    private static StoredRecord stored(String text, long tick) {
        return stored(text.getBytes(StandardCharsets.UTF_8), tick);
    }

    private static StoredRecord stored(byte[] text, long tick) {
        return stored(new Version(text, 5), tick);
    }

    private static StoredRecord stored(Version version, long tick) {
        ServerTime time = new ServerTime(1_000_000, tick, 0);
        return new StoredRecord(StoredRecord.read(NAME, version, time), time, time.latest(0));
    }
}
