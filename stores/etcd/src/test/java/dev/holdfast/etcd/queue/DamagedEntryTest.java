package dev.holdfast.etcd.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.google.protobuf.ByteString;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.fault.Damage;
import io.etcd.jetcd.api.KeyValue;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Somebody has changed the value of a claim's key. The key is still there, so it counts, whatever it says now. */
class DamagedEntryTest {

    private static final int TRIES = 2_000;
    private static final LockName NAME = new LockName("a name");
    private static final ByteString QUEUE = new LockKeys("holdfast/").queue(NAME);
    private static final ByteString KEY = LockKeys.key(QUEUE, 4711, 0);

    private final Claim holder = claim(1, 1);

    private static Claim claim(int permits, int limit) {
        OwnerInfo owner = new OwnerInfo("c", "host", 7, "a thread", "", List.of("held"));
        return new Claim(NAME, new ClaimId("c", 9), permits, limit, Duration.ofSeconds(30), owner);
    }

    @ParameterizedTest
    @EnumSource
    void damagedEntryKeepsTheLockTaken(Damage damage) {
        Random random = new Random(Seeds.of("damaged entry " + damage));
        byte[] value = QueueEntry.value(holder, 1_700_000_000_000_000L).toByteArray();
        for (int i = 0; i < TRIES; i++) {
            assertCounts(damage.of(value, random));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "-1", "2", "999999999"})
    void permitsThatCannotBeDoNotOpenTheLock(String permits) {
        assertCounts(with(2, permits));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "2147483647"})
    void limitsThatCannotBeDoNotOpenTheLock(String limit) {
        assertCounts(with(3, limit));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "0", "9223372036854775807"})
    void leasesThatCannotBeAreNotBelieved(String lease) {
        assertCounts(with(4, lease));
    }

    @Test
    void entryOfAnotherVersionCounts() {
        assertCounts("holdfast/2\nx".getBytes(StandardCharsets.UTF_8));
    }

    private byte[] with(int line, String text) {
        String[] lines = QueueEntry.value(holder, 1).toStringUtf8().split("\n", -1);
        lines[line] = text;
        return String.join("\n", lines).getBytes(StandardCharsets.UTF_8);
    }

    private static void assertCounts(byte[] value) {
        KeyValue pair = KeyValue.newBuilder()
                .setKey(KEY)
                .setValue(ByteString.copyFrom(value))
                .setCreateRevision(5)
                .setModRevision(6)
                .setLease(4711)
                .build();
        String what = new String(value, StandardCharsets.UTF_8);
        AdmissionQueue queue = AdmissionQueue.of(QUEUE, List.of(pair), true);
        assertThat(queue.entries()).as(what).hasSize(1);
        QueueEntry entry = queue.get(0);
        assertThatCode(() -> new Claim(NAME, entry.id(), entry.permits(), entry.limit(), entry.lease(), entry.owner()))
                .as("What others are shown of %s", what)
                .doesNotThrowAnyException();
        assertThat(queue.admits(new Claim(NAME, new ClaimId("b", 1), 1, 1, Duration.ofSeconds(30), OwnerInfo.of("b"))))
                .as("Another client would be granted beside %s", what)
                .isFalse();
    }
}
