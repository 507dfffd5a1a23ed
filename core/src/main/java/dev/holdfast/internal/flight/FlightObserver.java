package dev.holdfast.internal.flight;

import dev.holdfast.LockObserver;
import dev.holdfast.LossReason;
import java.time.Duration;

/** Writes events of locks into the flight recordings of this JVM. */
public final class FlightObserver implements LockObserver {

    /** The observer; it must be used only while {@link #isRecording}. */
    public static final LockObserver INSTANCE = new FlightObserver();

    /** A wait that is shorter is no event of its own, as with the JDK's monitors. */
    static final Duration SHORTEST_WAIT = Duration.ofMillis(20);

    // A run-time image may have been made without it.
    private static final boolean AVAILABLE = ModuleLayer.boot()
            .findModule("jdk.jfr")
            .filter(FlightObserver.class.getModule()::canRead)
            .isPresent();

    private FlightObserver() {}

    /** Whether a recording wants any of the events. Costs a few reads of fields, and nothing is allocated. */
    public static boolean isRecording() {
        return AVAILABLE && FlightEvents.areEnabled();
    }

    @Override
    public void acquireEnded(String name, Kind kind, Outcome outcome, Duration waited) {
        if (outcome == Outcome.ACQUIRED) {
            FlightEvents.acquired(name, kind, waited);
        }
        if (waited.compareTo(SHORTEST_WAIT) >= 0) {
            FlightEvents.waited(name, outcome, waited);
        }
    }

    @Override
    public void released(String name, Duration held) {
        FlightEvents.held(name, held);
    }

    @Override
    public void lost(String name, LossReason reason) {
        FlightEvents.lost(name, reason);
    }

    @Override
    public void renewalLate(String name, Duration remaining) {
        FlightEvents.late(name, remaining);
    }
}
