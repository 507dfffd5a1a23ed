package dev.holdfast.testkit;

import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** A listener that remembers what it was told, and that notices when it is told too much. Thread-safe. */
public final class RecordingListener implements ClaimListener {

    /** What a listener was told. */
    public sealed interface Event {

        /** The claim took a place. */
        record Waiting(int position, Duration retryAfter) implements Event {}

        /** The claim holds. */
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
    public void granted(long counter, Duration lease) {
        events.add(new Event.Granted(counter, lease));
    }

    @Override
    public void ended(Renewed.Reason reason) {
        events.add(new Event.Ended(reason));
    }

    @Override
    public void failed(StoreException cause) {
        events.add(new Event.Failed(cause));
    }

    /** All that was told, in order. */
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

    /** Whether the place in the queue, or an outcome, was told. */
    public boolean hasHeard() {
        return !events.isEmpty();
    }

    /**
     * Checks that no more was told than a listener may hear.
     *
     * @throws AssertionError if there was more than one outcome, or more than one place in the queue
     */
    public void checkContract() {
        List<Event> heard = events();
        long places = heard.stream().filter(Event.Waiting.class::isInstance).count();
        if (places > 1 || heard.size() - places > 1) {
            throw new AssertionError(
                    "A listener hears of at most one place and exactly one outcome, but heard " + heard);
        }
    }

    @Override
    public String toString() {
        return "heard " + events;
    }
}
