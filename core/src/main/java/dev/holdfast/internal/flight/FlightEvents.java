package dev.holdfast.internal.flight;

import dev.holdfast.LockObserver.Kind;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.LossReason;
import java.time.Duration;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** The events as the JDK's recorder has them. Each is written when something has ended, so that it has no duration of its own. */
final class FlightEvents {

    // One of each is kept to ask whether its kind is recorded, without making one.
    private static final Acquire ACQUIRE = new Acquire();
    private static final Wait WAIT = new Wait();
    private static final Hold HOLD = new Hold();
    private static final Loss LOSS = new Loss();
    private static final RenewalLate RENEWAL_LATE = new RenewalLate();

    private FlightEvents() {}

    static boolean areEnabled() {
        return ACQUIRE.isEnabled()
                || WAIT.isEnabled()
                || HOLD.isEnabled()
                || LOSS.isEnabled()
                || RENEWAL_LATE.isEnabled();
    }

    static void acquired(String name, Kind kind, Duration waited) {
        if (ACQUIRE.isEnabled()) {
            Acquire event = new Acquire();
            event.lock = name;
            event.kind = kind.name();
            event.waited = waited.toNanos();
            event.commit();
        }
    }

    static void waited(String name, Outcome outcome, Duration waited) {
        if (WAIT.isEnabled()) {
            Wait event = new Wait();
            event.lock = name;
            event.outcome = outcome.name();
            event.waited = waited.toNanos();
            event.commit();
        }
    }

    static void held(String name, Duration held) {
        if (HOLD.isEnabled()) {
            Hold event = new Hold();
            event.lock = name;
            event.held = held.toNanos();
            event.commit();
        }
    }

    static void lost(String name, LossReason reason) {
        if (LOSS.isEnabled()) {
            Loss event = new Loss();
            event.lock = name;
            event.reason = reason.name();
            event.commit();
        }
    }

    static void late(String name, Duration remaining) {
        if (RENEWAL_LATE.isEnabled()) {
            RenewalLate event = new RenewalLate();
            event.lock = name;
            event.remaining = remaining.toNanos();
            event.commit();
        }
    }

    @Name("dev.holdfast.Acquire")
    @Label("Lock Acquired")
    @Description("A lock was acquired, without re-entry")
    @Category("Holdfast")
    @StackTrace(false)
    static final class Acquire extends Event {
        @Label("Lock")
        String lock = "";

        @Label("Kind")
        String kind = "";

        @Label("Waited")
        @Timespan
        long waited;
    }

    @Name("dev.holdfast.Wait")
    @Label("Lock Wait")
    @Description("An acquisition ended after 20 ms or more, with the lock or without it")
    @Category("Holdfast")
    static final class Wait extends Event {
        @Label("Lock")
        String lock = "";

        @Label("Outcome")
        String outcome = "";

        @Label("Waited")
        @Timespan
        long waited;
    }

    @Name("dev.holdfast.Hold")
    @Label("Lock Released")
    @Description("A lock was released, or its owner noticed its loss")
    @Category("Holdfast")
    @StackTrace(false)
    static final class Hold extends Event {
        @Label("Lock")
        String lock = "";

        @Label("Held")
        @Timespan
        long held;
    }

    @Name("dev.holdfast.Loss")
    @Label("Lock Lost")
    @Description("A lock was lost while it was held")
    @Category("Holdfast")
    @StackTrace(false)
    static final class Loss extends Event {
        @Label("Lock")
        String lock = "";

        @Label("Reason")
        String reason = "";
    }

    @Name("dev.holdfast.RenewalLate")
    @Label("Lock Renewal Late")
    @Description("The renewal of a held lock is overdue")
    @Category("Holdfast")
    @StackTrace(false)
    static final class RenewalLate extends Event {
        @Label("Lock")
        String lock = "";

        @Label("Remaining")
        @Timespan
        long remaining;
    }
}
