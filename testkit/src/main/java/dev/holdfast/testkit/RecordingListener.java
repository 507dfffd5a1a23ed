package dev.holdfast.testkit;

import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** A listener that records its notifications, and can check that there were not too many. Thread-safe. */
public final class RecordingListener implements ClaimListener {

    /** A notification of the listener. */
    public sealed interface Event {

        /** The claim entered the queue. */
        record Waiting(int position, Duration retryAfter) implements Event {}

        /** The claim was granted. */
        record Granted(long counter, Duration lease) implements Event {}

        /** The claim is gone. */
        record Ended(Renewed.Reason reason) implements Event {}

        /** The request failed. */
        record Failed(StoreException cause) implements Event {}
    }

    private final List<Event> events = new CopyOnWriteArrayList<>();

    @Override
    public void waiting(int position, Duration retryAfter) {
        events.add(new Event.Waiting(position, retryAfter));
    }

    @Override
    public void granted(Granted granted) {
        events.add(new Event.Granted(granted.counter(), granted.lease()));
    }

    @Override
    public void ended(Renewed.Reason reason) {
        events.add(new Event.Ended(reason));
    }

    @Override
    public void failed(StoreException cause) {
        events.add(new Event.Failed(cause));
    }

    /** All events, in order. */
    public List<Event> events() {
        return List.copyOf(events);
    }

    /** The first event of a kind. */
    public <E extends Event> Optional<E> first(Class<E> kind) {
        return events.stream().filter(kind::isInstance).map(kind::cast).findFirst();
    }

    /** The terminal event: granted, ended or failed. */
    public Optional<Event> outcome() {
        return events.stream()
                .filter(event -> !(event instanceof Event.Waiting))
                .findFirst();
    }

    /** Whether the position in the queue, or an outcome, was reported. */
    public boolean wasNotified() {
        return !events.isEmpty();
    }

    /**
     * Checks that there were no more notifications than the contract allows.
     *
     * @throws AssertionError if there was more than one outcome, or more than one position in the queue
     */
    public void checkContract() {
        List<Event> notified = events();
        long positions =
                notified.stream().filter(Event.Waiting.class::isInstance).count();
        if (positions > 1 || notified.size() - positions > 1) {
            throw new AssertionError(
                    "A listener is notified of at most one position and exactly one outcome, but got " + notified);
        }
    }

    @Override
    public String toString() {
        return "notified of " + events;
    }
}
