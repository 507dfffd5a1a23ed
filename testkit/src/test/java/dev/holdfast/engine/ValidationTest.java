package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.testkit.ChangedTraits;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bad input is refused before anything is sent, and the message names what is wrong and what is allowed. */
class ValidationTest extends EngineFixture {

    private static final LockOptions OPTIONS = LockOptions.defaults();

    @AfterEach
    void nothingWasSent() {
        assertThat(store.counts()).isEmpty();
    }

    @Test
    void anEmptyNameIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.lock(""))
                .withMessageContainingAll("1 to 255 bytes of UTF-8", "empty");
    }

    @Test
    void aNameOfMoreThan255BytesIsRefusedThoughItHasFewerCharacters() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.lock("\u00e4".repeat(128)))
                .withMessageContainingAll("1 to 255 bytes", "256");
        assertThat(locks.lock("\u00e4".repeat(127) + "a").name()).hasSize(128);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\nb", "\0", "tab\t", "\u007f", "\u0085"})
    void aNameWithAControlCharacterIsRefusedAndTheMessageIsPrintable(String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.lock(name))
                .withMessageContainingAll("control characters", "U+")
                .satisfies(refused -> assertThat(refused.getMessage().chars()).noneMatch(Character::isISOControl));
    }

    @Test
    void aNameThatIsNoTextIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.lock("half \ud83d pair"))
                .withMessageContaining("surrogate");
    }

    @Test
    void everyFaceChecksItsNames() {
        String bad = "a\nb";
        assertThatIllegalArgumentException().isThrownBy(() -> locks.readWriteLock(bad));
        assertThatIllegalArgumentException().isThrownBy(() -> locks.semaphore(bad, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> locks.multiLock("good", bad));
        assertThatIllegalArgumentException().isThrownBy(() -> locks.state(bad));
    }

    @Test
    void leasesOutsideTheirRangeAreRefused() {
        for (Duration bad : List.of(
                Duration.ZERO,
                Duration.ofSeconds(-1),
                Duration.ofMillis(99),
                Duration.ofHours(24).plusNanos(1),
                Duration.ofSeconds(Long.MAX_VALUE))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> OPTIONS.withLease(bad))
                    .withMessageContainingAll("100 ms", "24 h", bad.toString());
            assertThatIllegalArgumentException().isThrownBy(() -> OPTIONS.withFixedLease(bad));
        }
        assertThat(OPTIONS.withLease(Duration.ofMillis(100)).lease()).isEqualTo(Duration.ofMillis(100));
        assertThat(OPTIONS.withLease(Duration.ofHours(24)).lease()).isEqualTo(Duration.ofHours(24));
    }

    @Test
    void otherOptionsOutsideTheirRangeAreRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> OPTIONS.withMaxHold(Duration.ofMillis(99)))
                .withMessageContainingAll("maxHold", "100 ms", "PT0.099S");
        for (Duration bad : List.of(
                Duration.ZERO, Duration.ofMillis(-1), Duration.ofHours(24).plusNanos(1))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> OPTIONS.withStoreTimeout(bad))
                    .withMessageContainingAll("storeTimeout", "1 ms", "24 h", bad.toString());
        }
    }

    @Test
    void endlessTimesDoNotOverflow() throws InterruptedException {
        Duration endless = Duration.ofSeconds(Long.MAX_VALUE);
        DistributedLock lock = locks.lock("endless", OPTIONS.withMaxHold(endless));
        lock.acquire(endless).release();
        lock.acquireAsync(endless).join().release();
        lock.lock();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        store.reset();
    }

    @Test
    void limitsAndPermitsOutsideTheirRangeAreRefused() {
        for (int bad : new int[] {0, -1, 1 << 24, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> locks.semaphore("pool", bad))
                    .withMessageContainingAll("pool", "1 to 16777215", String.valueOf(bad));
        }
        DistributedSemaphore pool = locks.semaphore("pool", 5);
        for (int bad : new int[] {0, -1, 6}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> pool.acquire(bad))
                    .withMessageContainingAll("pool", "1 to 5", String.valueOf(bad));
            assertThatIllegalArgumentException().isThrownBy(() -> pool.tryAcquire(bad));
            assertThatIllegalArgumentException().isThrownBy(() -> pool.acquire(bad, Duration.ZERO));
            assertThatIllegalArgumentException().isThrownBy(() -> pool.acquireAsync(bad));
        }
    }

    /** No outage, which an error of the store would be taken for. */
    @Test
    void whatTheStoreDoesNotServeIsUnsupported() {
        Holdfast few = client(new NoQueueStore(store) {
            @Override
            public StoreTraits traits() {
                return ChangedTraits.of(super.traits())
                        .named("few")
                        .mutexesOnly()
                        .get();
            }
        });
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> few.semaphore("pool", 5))
                .withMessageContainingAll("pool", "semaphore", "few", "exclusive locks only", "another store");
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> few.readWriteLock("pair"))
                .withMessageContainingAll("pair", "read-write lock", "few", "exclusive locks only", "another store");
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> few.lock("queue", OPTIONS.withFair(true)))
                .withMessageContainingAll("queue", "fair", "few", "no queue");
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> few.lock("set").condition("signal"))
                .withMessageContainingAll("set", "few", "no queue");
        few.semaphore("one", 1).tryAcquire().orElseThrow().release();
        store.reset();
    }

    @Test
    void negativeWaitsAreRefused() {
        Duration bad = Duration.ofNanos(-1);
        DistributedLock lock = locks.lock("wait");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> lock.acquire(bad))
                .withMessageContainingAll("negative", bad.toString());
        assertThatIllegalArgumentException().isThrownBy(() -> lock.acquireAsync(bad));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.multiLock("x", "y").acquire(bad));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.semaphore("pool", 2).acquire(1, bad));
    }

    @Test
    void listsOutsideTheirRangeAreRefused() {
        for (int bad : new int[] {0, -1, 10_001}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> locks.list("", bad))
                    .withMessageContainingAll("1 to 10000", String.valueOf(bad));
        }
    }

    @Test
    void aUrlThatNoStoreOpensIsRefusedWithTheFormsThatThereAre() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Holdfast.connect("nonsense://host/1"))
                .withMessageContainingAll("nonsense://host/1", "memory:");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Holdfast.connect("memory:x"))
                .withMessageContaining("memory:");
    }

    @Test
    void noMessageShowsThePasswordOfAUrl() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Holdfast.connect("nonsense://joe:s3cret@host/1"))
                .withMessageContaining("nonsense://***@host/1")
                .satisfies(refused -> assertThat(refused.getMessage()).doesNotContain("s3cret"));
    }

    @Test
    void aClientNeedsEitherAUrlOrAStore() {
        assertThatIllegalArgumentException().isThrownBy(() -> Holdfast.builder().connect());
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> Holdfast.builder().url("memory:").store(memory).connect())
                .withMessageContaining("either");
    }

    @Test
    void settingsOutsideTheirRangeAreRefused() {
        for (int bad : new int[] {-1, 1_024}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Holdfast.builder().handOffs(bad))
                    .withMessageContainingAll("0 to 1023", String.valueOf(bad));
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Holdfast.builder().handOffTime(Duration.ofMillis(-1)))
                .withMessageContaining("negative");
    }

    /** What is null is refused by whoever passes it, not when it is used: a listener at the loss, a label at the first lock. */
    @Test
    void nullIsRefusedWhereItIsPassed() throws InterruptedException {
        Holdfast.Builder builder = Holdfast.builder();
        assertThatNullPointerException()
                .isThrownBy(() -> builder.clock(missing()))
                .withMessage("clock");
        assertThatNullPointerException()
                .isThrownBy(() -> builder.observer(missing()))
                .withMessage("observer");
        assertThatNullPointerException()
                .isThrownBy(() -> builder.callbacks(missing()))
                .withMessage("callbacks");
        assertThatNullPointerException()
                .isThrownBy(() -> builder.label(missing()))
                .withMessage("label");
        assertThatNullPointerException()
                .isThrownBy(() -> builder.options(missing()))
                .withMessage("options");
        assertThatNullPointerException()
                .isThrownBy(() -> locks.list(missing(), 1))
                .withMessage("prefix");
        assertThatNullPointerException()
                .isThrownBy(() -> ElectionOptions.defaults().withReady(missing()))
                .withMessage("ready");
        try (Election election = locks.election("null")) {
            assertThatNullPointerException().isThrownBy(() -> election.onElected(missing()));
            assertThatNullPointerException().isThrownBy(() -> election.onLost(missing()));
            assertThatNullPointerException().isThrownBy(() -> election.onFailure(missing()));
            assertThatNullPointerException().isThrownBy(() -> election.observe(missing()));
            assertThatNullPointerException().isThrownBy(() -> election.run(missing()));
        }
        store.reset();
        try (Lease one = locks.lock("one").acquire();
                Lease several = locks.multiLock("x", "y").acquire()) {
            for (Lease lease : List.of(one, several)) {
                assertThatNullPointerException().isThrownBy(() -> lease.onLost(missing()));
                assertThatNullPointerException().isThrownBy(() -> lease.onInDoubt(missing()));
            }
        }
        store.reset();
    }

    @SuppressWarnings("NullAway") // as a caller whose compiler does not check it
    private static <T> T missing() {
        return null;
    }
}
