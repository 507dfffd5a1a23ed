package dev.holdfast.spring.boot;

import dev.holdfast.LockObserver;
import dev.holdfast.LossReason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Notifies several observers. One that throws does not keep the others from being notified. */
record Observers(List<LockObserver> all) implements LockObserver {

    static LockObserver of(List<LockObserver> observers) {
        return switch (observers.size()) {
            case 0 -> LockObserver.NONE;
            case 1 -> observers.get(0);
            default -> new Observers(List.copyOf(observers));
        };
    }

    @Override
    public @Nullable Acquisition acquireStarted(String name, Kind kind) {
        List<@Nullable Acquisition> started = new ArrayList<>(all.size());
        for (LockObserver observer : all) {
            started.add(startedBy(observer, name, kind));
        }
        if (started.stream().allMatch(Objects::isNull)) {
            return null;
        }
        return (outcome, waited) -> {
            Iterator<@Nullable Acquisition> next = started.iterator();
            each(observer -> {
                Acquisition acquisition = next.next();
                if (acquisition != null) {
                    acquisition.ended(outcome, waited);
                } else {
                    observer.acquireEnded(name, kind, outcome, waited);
                }
            });
        };
    }

    // What it throws must not take away from the others what they have begun.
    private static @Nullable Acquisition startedBy(LockObserver observer, String name, Kind kind) {
        try {
            return observer.acquireStarted(name, kind);
        } catch (RuntimeException | Error theirs) {
            Thread thread = Thread.currentThread();
            thread.getUncaughtExceptionHandler().uncaughtException(thread, theirs);
            return null;
        }
    }

    @Override
    public void acquireEnded(String name, Kind kind, Outcome outcome, Duration waited) {
        each(observer -> observer.acquireEnded(name, kind, outcome, waited));
    }

    @Override
    public void acquireEnded(String name, Outcome outcome, Duration waited) {
        each(observer -> observer.acquireEnded(name, outcome, waited));
    }

    @Override
    public void released(String name, Duration held) {
        each(observer -> observer.released(name, held));
    }

    @Override
    public void handedOff(String name, int times) {
        each(observer -> observer.handedOff(name, times));
    }

    @Override
    public void renewed(int claims, int failed, Duration took) {
        each(observer -> observer.renewed(claims, failed, took));
    }

    @Override
    public void renewalLate(String name, Duration remaining) {
        each(observer -> observer.renewalLate(name, remaining));
    }

    @Override
    public void requestEnded(Request request, boolean failed, Duration took) {
        each(observer -> observer.requestEnded(request, failed, took));
    }

    @Override
    public void lost(String name, LossReason reason) {
        each(observer -> observer.lost(name, reason));
    }

    private void each(Consumer<LockObserver> event) {
        Throwable first = null;
        for (LockObserver observer : all) {
            try {
                event.accept(observer);
            } catch (RuntimeException | Error e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first instanceof Error error) {
            throw error;
        }
        if (first instanceof RuntimeException exception) {
            throw exception;
        }
    }
}
