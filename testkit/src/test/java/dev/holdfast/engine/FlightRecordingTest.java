package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Engines;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a flight recording of the JDK says of locks. The client has no observer. */
class FlightRecordingTest extends EngineFixture {

    @TempDir
    Path folder;

    private List<RecordedEvent> recorded(Consumer<Recording> whatHappens) throws IOException {
        Path file = folder.resolve("locks.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("dev.holdfast.*");
            recording.start();
            whatHappens.accept(recording);
            recording.stop();
            recording.dump(file);
        }
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().startsWith("dev.holdfast."))
                .toList();
    }

    private static RecordedEvent one(List<RecordedEvent> events, String name, String lock) {
        List<RecordedEvent> found = events.stream()
                .filter(event -> event.getEventType().getName().equals("dev.holdfast." + name)
                        && event.getString("lock").equals(lock))
                .toList();
        assertThat(found).as("%s of %s", name, lock).hasSize(1);
        return found.get(0);
    }

    @Test
    void everythingThatHappensToLocksIsRecorded() throws IOException {
        List<RecordedEvent> events = recorded(recording -> {
            a.run(locks.lock("quick")::lock);
            clock.advance(Duration.ofMillis(19));
            a.run(locks.lock("quick")::unlock);

            c.run(rival.lock("contended")::lock);
            CompletableFuture<Lease> waiting =
                    b.park(() -> locks.lock("contended").acquire());
            clock.advance(Duration.ofMillis(25));
            c.run(rival.lock("contended")::unlock);
            Actor.end(waiting).release();

            // Listeners are called after the observer was, or beside it: they say only that the engine knows.
            Lease late = a.get(() -> locks.lock("late").acquire());
            network.partition();
            clock.advanceAndSettle(LEASE.multipliedBy(6).dividedBy(10));
            network.heal();
            late.extend(LEASE);
            late.release();

            Lease lost = a.get(() -> locks.lock("lost", LockOptions.defaults().withFixedLease(LEASE))
                    .acquire());
            clock.advanceAndSettle(LEASE);
            assertThat(lost.isValid()).isFalse();
            awaitCallbacks(locks);
        });
        assertThat(one(events, "Acquire", "quick").getString("kind")).isEqualTo("MUTEX");
        assertThat(one(events, "Hold", "quick").getDuration("held")).isEqualTo(Duration.ofMillis(19));
        RecordedEvent wait = one(events, "Wait", "contended");
        assertThat(wait.getDuration("waited")).isGreaterThanOrEqualTo(Duration.ofMillis(25));
        assertThat(wait.getString("outcome")).isEqualTo("ACQUIRED");
        assertThat(one(events, "RenewalLate", "late").getDuration("remaining"))
                .isBetween(Duration.ofSeconds(10), LEASE);
        assertThat(one(events, "Loss", "lost").getString("reason")).isEqualTo("EXPIRED");
        assertThat(events)
                .noneMatch(event -> event.getEventType().getName().endsWith("Wait")
                        && event.getString("lock").equals("quick"));
    }

    /** Nothing is measured and no event is made while nothing is recorded. */
    @Test
    void withoutARecordingNobodyObserves() throws IOException {
        assertThat(Engines.of(locks).callbacks().isObserved()).isFalse();
        recorded(recording ->
                assertThat(Engines.of(locks).callbacks().isObserved()).isTrue());
        assertThat(Engines.of(locks).callbacks().isObserved()).isFalse();
    }
}
