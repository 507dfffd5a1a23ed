package dev.holdfast.etcd.queue;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Admission as a function of the queue, and which claim a waiter watches. */
class AdmissionQueueTest {

    private static final int LIMIT = 4;

    @Test
    void holdersAreTheFirstClaimsOfTheQueue() {
        AdmissionQueue queue = AdmissionQueue.of(
                List.of(entry(1, 2, LIMIT), entry(2, 2, LIMIT), entry(3, 3, LIMIT), entry(4, 1, LIMIT)));
        assertThat(queue.admitted()).isEqualTo(2);
        assertThat(queue.position(3)).isEqualTo(1);
        Claim one = new Claim(
                new LockName("name"), new ClaimId("b", 1), 1, LIMIT, Duration.ofSeconds(30), OwnerInfo.of("b"));
        assertThat(queue.admits(one)).isFalse();
    }

    @Test
    void claimOfAnotherKindBlocksLaterClaims() {
        AdmissionQueue queue = AdmissionQueue.of(List.of(entry(1, 1, LIMIT), entry(2, 1, 1), entry(3, 1, LIMIT)));
        assertThat(queue.admitted()).isEqualTo(1);
        assertThat(queue.blockerOf(2)).isEqualTo(new AdmissionQueue.Blocker(key(2)));
    }

    @Test
    void waitersWatchTheClaimThatBlocksThem() {
        int all = Claim.ALL;
        AdmissionQueue readers =
                AdmissionQueue.of(List.of(entry(1, all, all), entry(2, 1, all), entry(3, 1, all), entry(4, all, all)));
        assertThat(readers.blockerOf(1)).isEqualTo(new AdmissionQueue.Blocker(key(1)));
        assertThat(readers.blockerOf(2)).isEqualTo(new AdmissionQueue.Blocker(key(1)));
        assertThat(readers.blockerOf(3)).isEqualTo(new AdmissionQueue.Blocker(key(3)));
        AdmissionQueue permits = AdmissionQueue.of(
                List.of(entry(1, 2, LIMIT), entry(2, 1, LIMIT), entry(3, 2, LIMIT), entry(4, 1, LIMIT)));
        assertThat(permits.blockerOf(2)).as("all holders").isEqualTo(new AdmissionQueue.Blocker(null));
        assertThat(permits.blockerOf(3)).isEqualTo(new AdmissionQueue.Blocker(key(3)));
        assertThat(AdmissionQueue.of(List.of(entry(1, 1, 0))).blockerOf(0)).isNull();
    }

    /** The property that allows a waiter to be granted by an event, without another read of the queue. */
    @Test
    void claimThatWasAdmittedOnceStaysAdmitted() {
        long seed = Seeds.of("admitted once");
        Random random = new Random(seed);
        for (int run = 0; run < 2_000; run++) {
            List<QueueEntry> entries = new ArrayList<>();
            long created = 0;
            for (int step = 0; step < 20; step++) {
                AdmissionQueue before = AdmissionQueue.of(List.copyOf(entries));
                int dice = random.nextInt(4);
                if (dice < 2 || entries.isEmpty()) {
                    int limit = random.nextInt(10) == 0 ? 1 : LIMIT;
                    entries.add(entry(++created, 1 + random.nextInt(limit), limit));
                } else {
                    int at = random.nextInt(entries.size());
                    QueueEntry old = entries.remove(at);
                    if (dice == 3 && old.permits() > 1) {
                        entries.add(at, entry(old.created(), old.permits() - 1, old.limit()));
                    }
                }
                AdmissionQueue after = AdmissionQueue.of(List.copyOf(entries));
                for (QueueEntry holder : before.entries().subList(0, before.admitted())) {
                    int index = after.indexOf(holder.id());
                    assertThat(index < 0 || after.isAdmitted(index))
                            .as("seed %d: %s then %s", seed, before, after)
                            .isTrue();
                }
                int granted = after.entries().subList(0, after.admitted()).stream()
                        .mapToInt(QueueEntry::permits)
                        .sum();
                assertThat(granted)
                        .isLessThanOrEqualTo(
                                after.admitted() == 0 ? 0 : entries.get(0).limit());
            }
        }
    }

    /** The property that allows a waiter in a long queue to read its end only. */
    @Test
    void whatTheEndOfAQueueShowsOfACertainClaimIsTrue() {
        long seed = Seeds.of("ends of queues");
        Random random = new Random(seed);
        int certain = 0;
        for (int run = 0; run < 500; run++) {
            int limit = new int[] {0, 1, LIMIT, Claim.ALL}[random.nextInt(4)];
            int most = limit == LIMIT ? LIMIT : 1;
            List<QueueEntry> entries = new ArrayList<>();
            for (int i = 1; i <= 20; i++) {
                boolean isWriter = limit == Claim.ALL && random.nextInt(4) == 0;
                int of = random.nextInt(30) == 0 ? 7 : limit;
                entries.add(entry(i, isWriter ? limit : 1 + random.nextInt(most), of));
            }
            AdmissionQueue whole = AdmissionQueue.of(entries);
            int from = random.nextInt(entries.size());
            AdmissionQueue end = new AdmissionQueue(entries.subList(from, entries.size()), false);
            for (int index = from; index < entries.size(); index++) {
                if (end.isCertain(index - from)) {
                    certain++;
                    assertThat(whole.isAdmitted(index)).as("seed %d", seed).isFalse();
                    assertThat(whole.position(index)).as("seed %d", seed).isGreaterThanOrEqualTo(Renewed.Waiting.FAR);
                    assertThat(end.blockerOf(index - from)).as("seed %d", seed).isEqualTo(whole.blockerOf(index));
                }
            }
        }
        assertThat(certain).isGreaterThan(500);
    }

    /** The property that allows a refresh to read the nearest keys only. */
    @Test
    void waiterWhoseProofIsUnchangedWaitsWhateverElseHasLeft() {
        long seed = Seeds.of("proofs");
        Random random = new Random(seed);
        for (int run = 0; run < 500; run++) {
            int limit = random.nextInt(2);
            List<QueueEntry> entries = new ArrayList<>();
            for (int i = 1; i <= 1 + random.nextInt(20); i++) {
                entries.add(entry(i, 1, limit));
            }
            int index = entries.size() - 1;
            AdmissionQueue before = AdmissionQueue.of(entries);
            List<QueueEntry> proof = before.proof(index);
            if (proof == null) {
                assertThat(before.isAdmitted(index)).isTrue();
                continue;
            }
            List<QueueEntry> left = entries.stream()
                    .filter(entry -> proof.contains(entry) || random.nextBoolean())
                    .toList();
            AdmissionQueue after = AdmissionQueue.of(left);
            int position = after.position(left.size() - 1);
            assertThat(Math.min(position, Renewed.Waiting.FAR))
                    .as("seed %d", seed)
                    .isEqualTo(Math.min(before.position(index), Renewed.Waiting.FAR));
        }
    }

    private static ByteString key(long created) {
        return ByteString.copyFromUtf8("name/a." + created);
    }

    private static QueueEntry entry(long created, int permits, int limit) {
        return new QueueEntry(
                key(created),
                new ClaimId("a", created),
                permits,
                limit,
                Duration.ofSeconds(30),
                OwnerInfo.of("a"),
                0,
                created,
                created,
                1);
    }
}
