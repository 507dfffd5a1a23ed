package dev.holdfast.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockObserver.Kind;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.micrometer.HoldfastObservation.AcquireKey;
import dev.holdfast.testkit.ManualClock;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Acquisitions as observations, from their beginning to their end. */
class HoldfastObservationsTest {

    private final List<Observation.Context> started = new CopyOnWriteArrayList<>();
    private final List<Map<String, String>> keysAtStart = new CopyOnWriteArrayList<>();
    private final List<Observation.Context> stopped = new CopyOnWriteArrayList<>();
    private final ObservationRegistry registry = ObservationRegistry.create();
    private final ManualClock clock = new ManualClock();
    private final MemoryLockStore store = new MemoryLockStore(clock);
    private final Holdfast locks = new HoldfastObservations(registry)
            .connect(Holdfast.builder().store(store).clock(clock));

    HoldfastObservationsTest() {
        registry.observationConfig().observationHandler(new ObservationHandler<Observation.Context>() {
            @Override
            public void onStart(Observation.Context context) {
                started.add(context);
                keysAtStart.add(keys(context));
            }

            @Override
            public void onStop(Observation.Context context) {
                stopped.add(context);
            }

            @Override
            public boolean supportsContext(Observation.Context context) {
                return true;
            }
        });
    }

    @AfterEach
    void close() {
        locks.close();
    }

    private static Map<String, String> keys(Observation.Context context) {
        return context.getAllKeyValues().stream().collect(Collectors.toMap(KeyValue::getKey, KeyValue::getValue));
    }

    @Test
    void anAcquisitionIsObservedWithTheKeysThatAreDocumented() {
        locks.lock("order:42").tryAcquire().orElseThrow().release();
        assertThat(stopped).isEqualTo(started).hasSize(1);
        Observation.Context context = stopped.get(0);
        assertThat(context.getName()).isEqualTo("holdfast.lock.acquire");
        assertThat(context.getContextualName()).isEqualTo("acquire order:*");
        assertThat(keysAtStart.get(0))
                .isEqualTo(Map.of(
                        "store", "memory", "lock", "order:*", "kind", "mutex", "outcome", "none", "waited", "none"));
        assertThat(keys(context))
                .isEqualTo(Map.of(
                        "store",
                        "memory",
                        "lock",
                        "order:*",
                        "kind",
                        "mutex",
                        "outcome",
                        "acquired",
                        "waited",
                        "false"));
        assertThat(context.getHighCardinalityKeyValues()).isEmpty();
    }

    @Test
    void theWaitIsInsideAndTheParentIsThatOfTheThreadThatAsks() throws InterruptedException {
        Lease lease = locks.lock("a").acquire();
        Observation request = Observation.start("request", registry);
        CompletableFuture<Lease> waiting;
        try (Observation.Scope scope = request.openScope()) {
            waiting = locks.lock("a").acquireAsync();
        }
        assertThat(stopped).hasSize(1);
        assertThat(started).hasSize(3);
        assertThat(started.get(2).getParentObservation()).isSameAs(request);
        clock.advance(Duration.ofSeconds(2));
        lease.release();
        waiting.join().release();
        assertThat(stopped).hasSize(2);
        assertThat(keys(stopped.get(1))).containsEntry("outcome", "acquired").containsEntry("waited", "true");
        request.stop();
    }

    @Test
    void reentryIsNotObservedAndABusyLockIs() {
        DistributedLock lock = locks.lock("a");
        lock.lock();
        lock.lock();
        assertThat(CompletableFuture.supplyAsync(lock::tryLock).join()).isFalse();
        lock.unlock();
        lock.unlock();
        assertThat(stopped.stream().map(context -> keys(context).get("outcome")))
                .containsExactly("acquired", "busy");
    }

    @Test
    void theProgramMayHaveItsOwnConvention() {
        AcquireConvention own = new DefaultAcquireConvention() {
            @Override
            public KeyValues getHighCardinalityKeyValues(AcquireContext context) {
                return KeyValues.of("lock.name", context.lockName());
            }
        };
        HoldfastObservations observations = new HoldfastObservations(registry, LockGroups.byPattern(), own);
        try (Holdfast mine = observations.connect(
                Holdfast.builder().store(new MemoryLockStore(clock)).clock(clock))) {
            mine.lock("order:42").tryAcquire().orElseThrow().release();
        }
        assertThat(keys(stopped.get(0))).containsEntry("lock.name", "order:42");
    }

    @Test
    void whereNobodyListensNothingIsMade() {
        HoldfastObservations observations = new HoldfastObservations(ObservationRegistry.NOOP);
        assertThat(observations.acquireStarted("a", Kind.MUTEX)).isNull();
    }

    @Test
    void thePageDocumentsTheNameAndAllKeys() throws IOException {
        String page = Files.readString(Path.of("../../docs/observability.md"));
        String table = page.substring(page.indexOf("## Observations"));
        assertThat(table).contains('`' + HoldfastObservation.NAME + '`');
        assertThat(table)
                .contains(Arrays.stream(AcquireKey.values())
                        .map(key -> "| `" + key.asString() + "` |")
                        .toList());
        assertThat(HoldfastObservation.ACQUIRE.getLowCardinalityKeyNames()).containsExactly(AcquireKey.values());
    }
}
