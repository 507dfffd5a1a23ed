package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;

/** Law 10: names, queues, leases and batches have limits, and bad input is refused before anything is sent. */
abstract class BoundsLaw extends DeathLaw {

    @Law(10)
    public final void traitsAreConstantAndPossible() {
        assertThat(traits()).isEqualTo(traits());
        assertThat(traits().product()).isNotBlank();
        assertThat(traits().leaseStep()).isPositive().isLessThanOrEqualTo(Duration.ofSeconds(1));
        assertThat(traits().callTimeout()).isPositive().isLessThanOrEqualTo(Duration.ofMinutes(1));
        assertThat(traits().ticketTtl().isZero()).isEqualTo(!traits().fifo());
    }

    @Law(10)
    public final void callsEndInTime() {
        Claim claim = alice.mutex(name());
        long start = System.nanoTime();
        granted(claim);
        busy(bob.mutex(claim.name()));
        held(claim);
        inspected(claim.name());
        released(claim);
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isLessThan(traits().callTimeout().multipliedBy(5));
    }

    @Law(10)
    public final void badNamesAreRefused() {
        for (String bad :
                List.of("", "a".repeat(256), "\u00e4".repeat(128), "a\nb", "a\u0000", "\u007f", "\u0085", "\ud800")) {
            assertThatThrownBy(() -> new LockName(bad)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Law(10)
    public final void badClaimsAreRefused() {
        LockName name = name();
        refused(() -> alice.claim(name, 0, 1));
        refused(() -> alice.claim(name, -1, 5));
        refused(() -> alice.claim(name, 6, 5));
        refused(() -> alice.claim(name, 2, 0));
        refused(() -> alice.claim(name, 1, -1));
        refused(() -> alice.claim(name, 1, Claim.ALL + 1));
        refused(() -> new ClaimId("", 1));
        refused(() -> new ClaimId("two words", 1));
        refused(() -> new ClaimId("a".repeat(65), 1));
        refused(() -> new ClaimId("a", -1));
    }

    @Law(10)
    public final void longestNamesAndOwnersWork() {
        List<LockName> names = List.of(
                name("a".repeat(LockName.MAX_BYTES - prefix().length())),
                name("\u20ac".repeat((LockName.MAX_BYTES - prefix().length()) / 3)),
                name("\ud83d\udd12".repeat((LockName.MAX_BYTES - prefix().length()) / 4)));
        ClaimId id = new ClaimId("c".repeat(64), Long.MAX_VALUE);
        String text = "'\"\\%_\u20ac\ud83d\udd12 ;--{}".repeat(20);
        List<String> held = Collections.nCopies(OwnerInfo.MAX_HELD, names.get(0).value());
        OwnerInfo owner = new OwnerInfo("c".repeat(64), text, Long.MAX_VALUE, text, text, held);
        for (LockName name : names) {
            Claim claim = new Claim(name, id, 1, 1, LONG, owner);
            granted(claim);
            assertThat(onlyHolder(name).claim().id()).isEqualTo(id);
            assertThat(onlyHolder(name).claim().owner()).isEqualTo(owner);
        }
        assertThat(get(store().list(prefix(), 10))).containsExactlyInAnyOrderElementsOf(names);
    }

    @Law(10)
    public final void severalAreBounded() {
        assumeSeveral();
        List<Claim> claims = IntStream.range(0, LockStore.MAX_SEVERAL + 1)
                .mapToObj(i -> alice.mutex(name()))
                .toList();
        refused(() -> store().tryAcquireAll(List.of()));
        refused(() -> store().tryAcquireAll(claims));
        refused(() -> store().tryAcquireAll(
                        List.of(claims.get(0), bob.mutex(claims.get(0).name()))));
        assertThat(inspected(claims.get(0).name())).isEmpty();
        assertThat(get(store().tryAcquireAll(claims.subList(0, LockStore.MAX_SEVERAL))))
                .hasSize(LockStore.MAX_SEVERAL)
                .allMatch(Granted.class::isInstance);
    }

    @Law(10)
    public final void listsAreBounded() {
        refused(() -> store().list(prefix(), 0));
        refused(() -> store().list(prefix(), -1));
        refused(() -> store().list(prefix(), LockStore.MAX_LIST + 1));
        assertThat(get(store().list(prefix(), LockStore.MAX_LIST))).isEmpty();
    }

    @Law(10)
    public final void batchesAreBounded() {
        LockName name = name();
        List<Claim> tooMany = IntStream.rangeClosed(0, LockStore.MAX_BATCH)
                .mapToObj(i -> alice.mutex(name))
                .toList();
        refused(() -> store().renew(tooMany));
    }

    @Law(10)
    public final void batchOfRenewalsIsAnsweredInOrder() {
        assertThat(get(store().renew(List.of()))).isEmpty();
        List<Claim> holders =
                Stream.generate(() -> alice.mutex(name())).limit(30).toList();
        holders.forEach(this::granted);
        List<Claim> waiters =
                holders.stream().map(holder -> bob.mutex(holder.name())).toList();
        if (traits().fifo()) {
            waitingTogether(waiters);
        }
        List<Claim> batch = new ArrayList<>();
        for (int i = 0; i < holders.size(); i++) {
            batch.add(holders.get(i));
            batch.add(bob.mutex(holders.get(i).name()));
            batch.add(waiters.get(i));
        }
        List<Renewed> answers = get(store().renew(batch));
        assertThat(answers).hasSize(batch.size());
        for (int i = 0; i < answers.size(); i++) {
            Class<?> expected = switch (i % 3) {
                case 0 -> Granted.class;
                case 1 -> Renewed.Gone.class;
                default -> traits().fifo() ? Renewed.Waiting.class : Renewed.Gone.class;
            };
            assertThat(answers.get(i)).as("answer %d", i).isInstanceOf(expected);
        }
    }

    // The claims are enqueued together, because on a busy machine the first ticket could expire before the last
    // claim waits.
    private void waitingTogether(List<Claim> claims) {
        Map<Claim, RecordingListener> listeners = new LinkedHashMap<>();
        for (Claim claim : claims) {
            RecordingListener listener = new RecordingListener();
            store().enqueue(claim, listener);
            listeners.put(claim, listener);
        }
        listeners.forEach((claim, listener) -> {
            await(listener::wasNotified, () -> "the listener was not notified about " + claim);
            assertThat(listener.events()).allMatch(RecordingListener.Event.Waiting.class::isInstance);
        });
    }

    @Law(10)
    @Timeout(600)
    public final void queueIsBounded() {
        assumeQueue();
        LockName name = name();
        granted(alice.mutex(name));
        fillQueue(Stream.generate(() -> bob.mutex(name))
                .limit(LockStore.MAX_QUEUE)
                .toList());
        Claim tooMany = bob.mutex(name);
        RecordingListener listener = enqueued(tooMany);
        StoreException refusal = listener.first(RecordingListener.Event.Failed.class)
                .orElseThrow(() -> new AssertionError("should have been refused: " + listener))
                .cause();
        assertThat(refusal.effect()).isEqualTo(Effect.NONE);
        assertThat(refusal.retryable()).isFalse();
        gone(tooMany);
    }

    private static void refused(Runnable badRequest) {
        assertThatThrownBy(badRequest::run).isInstanceOf(IllegalArgumentException.class);
    }
}
